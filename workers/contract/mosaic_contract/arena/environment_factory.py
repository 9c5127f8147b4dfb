"""Creation of an arena's environment by the shim, with clear errors for unsupported settings, and base
classes of environments of several agents for libraries without PettingZoo's interface.

`check_settings` is for shims, which know the function that receives the settings. If that function accepts
any keyword, the environment is made without the settings to find out whether they caused an error.
"""

from __future__ import annotations

import difflib
import inspect
from importlib import import_module
from typing import Any, Callable, Iterable, Mapping, Sequence

from mosaic_contract import registry
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.environment_check import unmakeable
from mosaic_contract.errors import ConfigError, one_line
from mosaic_contract.fastlane import RENDER_MODE

MakeEnvironment = Callable[[str, Mapping[str, Any], "str | None"], Any]

_ARGUMENT_ERRORS = (TypeError, ValueError, LookupError, AssertionError)  # raised for wrong arguments
_TEXT_LIMIT = 400
_RESERVED_KEYWORDS = ("self", "render_mode")
_MAKE_KEYWORDS = ("max_episode_steps",)  # settings of gymnasium.make itself


def check_settings(env_id: str, settings: Mapping[str, Any], maker: Any, also: Sequence[str] = ()) -> None:
    """Raise `ConfigError` for settings that are neither keywords of the class or function `maker` nor in
    `also`, suggesting the nearest known names. Accepts everything if `maker` takes arbitrary keywords."""
    keywords = _keywords(maker)
    if keywords is None:
        return
    keywords = sorted({*keywords, *also} - {*_RESERVED_KEYWORDS})
    lower = {name.lower(): name for name in keywords}
    problems = []
    for name in settings:
        if name not in keywords:
            near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
            hint = f"did you mean {lower[near[0]]!r}?" if near else f"it has {', '.join(keywords) or 'none'}"
            problems.append(f"{env_id} has no setting {name!r}: {hint}")
    if problems:
        raise ConfigError(problems)


def check_gymnasium_settings(env_id: str, settings: Mapping[str, Any]) -> None:
    """Call `check_settings` for an id in Gymnasium's registry. Does nothing for other ids."""
    spec = import_module("gymnasium").registry.get(env_id)
    if settings and spec is not None:
        creator = spec.entry_point
        if isinstance(creator, str):
            module, _, name = creator.partition(":")
            creator = getattr(import_module(module), name)
        check_settings(env_id, settings, creator, also=_MAKE_KEYWORDS)


def make_gymnasium(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Make a Gymnasium environment by its id, which may be "module:Id", or a Gymnasium or PettingZoo
    environment by its `user_maker`, with `settings`.

    Gymnasium's own checker is disabled, because `environment_check` replaces it. Raises `ConfigError` for an
    unregistered id and for unknown settings, else the environment's own errors.
    """
    error = import_module("gymnasium").error
    registry.register(env_id)
    if (maker := registry.user_maker(env_id)) is not None:
        check_settings(env_id, settings, maker)
    else:
        check_gymnasium_settings(env_id, settings)
    try:
        return registry.make(env_id, render_mode, **settings)
    except (error.UnregisteredEnv, error.DeprecatedEnv) as unknown:
        raise unmakeable(env_id, unknown) from None


def make_with_frames(make: MakeEnvironment, env_id: str, settings: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the environment, able to render if possible, and the reason if it cannot render. Raises
    `ArenaError`."""
    try:
        return make(env_id, settings, RENDER_MODE), ""
    except ConfigError as error:
        raise ArenaError(str(error), error_type="ConfigError") from error
    except Exception as render_error:
        try:
            env = make(env_id, settings, None)
        except Exception as error:  # environments raise arbitrary exceptions
            if settings and isinstance(error, _ARGUMENT_ERRORS) and _can_be_made(make, env_id):
                raise ArenaError(
                    f"{env_id} cannot be made with env_kwargs={dict(settings)!r}: {_first_line(error)}",
                    error_type="ConfigError",
                ) from error
            raise ArenaError.of_environment(f"{env_id} cannot be made", error) from error
        return env, f"{env_id} cannot be made with {RENDER_MODE}: {one_line(render_error)}"


def _can_be_made(make: MakeEnvironment, env_id: str) -> bool:
    """Return whether an environment can be made without settings."""
    try:
        make(env_id, {}, None).close()
    except Exception:
        return False
    return True


def _first_line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0][:_TEXT_LIMIT]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _keywords(maker: Any) -> list[str] | None:
    """Return the keywords of a function, or of a class and the bases it forwards keywords to; None if any
    keyword is accepted."""
    keywords = []
    inits = [vars(base)["__init__"] for base in getattr(maker, "__mro__", ()) if "__init__" in vars(base)]
    for function in inits or [maker]:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # some functions written in C have no signature
            return None
        keyword_kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        keywords += [parameter.name for parameter in parameters if parameter.kind in keyword_kinds]
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return keywords
    return None


class NumberedAgents:
    """The members of a parallel PettingZoo environment other than `reset` and `step`, around a Gymnasium
    environment with one space per agent. Agent ``agent_<n>`` has the spaces at index ``n`` of ``numbers``."""

    def __init__(self, env: Any, numbers: Iterable[int]) -> None:
        self._env = env
        self._numbers = {f"agent_{number}": number for number in numbers}
        self.possible_agents = list(self._numbers)
        self.agents: list[str] = []

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def number_of(self, agent: str) -> int:
        """Return an agent's number in the environment."""
        return self._numbers[agent]

    def observation_space(self, agent: str) -> Any:
        return self._env.observation_space[self._numbers[agent]]

    def action_space(self, agent: str) -> Any:
        return self._env.action_space[self._numbers[agent]]

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


class TurnBasedGame:
    """The members of a turn-based PettingZoo environment (AEC) that are the same for all games. Agents are
    "player_0", "player_1", …. Subclasses define the rest, and `play` instead of `step`."""

    rewards: dict[str, float]
    terminations: dict[str, bool]

    def __init__(self, players: int) -> None:
        self.possible_agents = [f"player_{number}" for number in range(players)]
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self._numbers = {agent: number for number, agent in enumerate(self.possible_agents)}

    def agent_iter(self) -> None:
        """PettingZoo's method, by which turn-based environments are recognized."""
        raise NotImplementedError("an arena steps this environment by its agent_selection")

    def number_of(self, agent: str) -> int:
        """Return an agent's number in the game."""
        return self._numbers[agent]

    def step(self, action: Any) -> None:
        if not self.terminations[self.agent_selection]:
            self.play(action)
            return
        self.agents.remove(self.agent_selection)  # the last step of an agent after the game's end
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.agent_selection = next(iter(self.agents), self.agent_selection)

    def play(self, action: Any) -> None:
        """Play a move of `agent_selection` and update the members."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def registered(prefix: str) -> list[str]:
    """Return the ids in Gymnasium's registry that begin with a prefix."""
    return sorted(env_id for env_id in import_module("gymnasium").registry if env_id.startswith(prefix))
