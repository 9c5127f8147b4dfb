"""Where an episode begins: at a position, after actions already played, or at a position and after actions.

A start is a position as text, a list of actions, or `{"position": text, "actions": [...]}`. An action is the
value for the agent whose turn it is, or its name, such as "e2e4" or "Nf3" in chess; `{agent: value}` if
several act at once.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from importlib import import_module
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.environment_description import EnvironmentDescription
from mosaic_contract.arena.errors import ArenaError, Unusable
from mosaic_contract.arena.positions import begin_at
from mosaic_contract.arrays import unpack
from mosaic_contract.errors import ConfigError

_KEYS = {"position", "actions"}
_MAX_NAMED = 12  # actions in an error


class Start(NamedTuple):
    """The position, if it is not the environment's own, and the actions already played from there."""

    position: str | None = None
    actions: Sequence[Any] = ()

    @classmethod
    def of(cls, value: Any) -> Start:
        """Return the start given in a message. Raises `ConfigError` for any other value."""
        if value is None:
            return cls()
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, (list, tuple)):
            return cls(None, value)
        if isinstance(value, Mapping) and value and set(value) <= _KEYS:
            position, actions = value.get("position"), value.get("actions", ())
            if isinstance(position, (str, type(None))) and isinstance(actions, (list, tuple)):
                return cls(position, actions)
        raise ConfigError(
            f"start={value!r:.200}: must be a position as text, a list of the actions already played, or "
            '{"position": text, "actions": [...]}'
        )

    def prepare(self, env: Any, env_id: str) -> None:
        """Let each reset of an environment begin at the position. Raises `ConfigError`."""
        if self.position is not None:
            begin_at(env, env_id, self.position)

    def play(
        self,
        environment: EnvironmentAdapter,
        description: EnvironmentDescription,
        before_step: Callable[[], None],
    ) -> None:
        """Play the actions, after a reset; call `before_step` before each. Raises `ArenaError` if they cannot
        be played, or end the episode."""
        total = len(self.actions)
        for number, action in enumerate(self.actions, 1):
            turn = environment.turn
            if not turn:
                raise _error(f"the episode ends after {number - 1} of the {total} actions of start")
            before_step()
            try:
                environment.step(_legal_actions(environment, description, action))
            except Unusable as error:
                raise _error(f"action {number} of start, {action!r:.100}: {error}") from None
            except Exception as error:  # environments raise arbitrary exceptions
                raise ArenaError.of_environment(f"action {number} of start failed", error) from error
        if total and not environment.turn:
            raise _error(f"the episode ends with the {total} actions of start")
        environment.rewards = dict.fromkeys(environment.agents, 0.0)


def _legal_actions(
    environment: EnvironmentAdapter, description: EnvironmentDescription, action: Any
) -> dict[str, Any]:
    """Return the legal actions of the agents whose turn it is. Raises `Unusable`."""
    turn = environment.turn
    by_agent = isinstance(action, Mapping) and set(action) & set(environment.agents)
    if not by_agent and len(turn) == 1:
        action = {turn[0]: action}
    if not isinstance(action, Mapping) or set(action) != set(turn):
        example = ", ".join(f'"{agent}": …' for agent in turn)
        raise Unusable("illegal", f"it is the turn of {', '.join(turn)}: give {{{example}}}")
    return {
        agent: description.rules[agent].accept(
            _action_named(action[agent], agent, description), environment.observe(agent).mask
        )
        for agent in turn
    }


def _action_named(action: Any, agent: str, description: EnvironmentDescription) -> Any:
    """Return the action with this name, if actions have names now. Raises `Unusable` for an unknown name."""
    if not isinstance(action, str) or not (names := description.named_actions(agent)):
        return unpack(action)
    if action not in names and (fen := description.state(agent).get("fen")):
        with suppress(ValueError):
            action = import_module("chess").Board(fen).parse_san(action).uci()
    if action not in names:
        near = difflib.get_close_matches(action, names, n=3) or list(names)
        suffix = "" if len(near) <= _MAX_NAMED else f" and {len(near) - _MAX_NAMED:,} others"
        raise Unusable("illegal", f"is not an action now; there are {', '.join(near[:_MAX_NAMED])}{suffix}")
    return names[action]


def _error(text: str) -> ArenaError:
    return ArenaError(text, error_type="ConfigError")
