"""Checks of environments, shared by trainings and arenas.

`probe` makes an environment, resets it and steps it once, before anything else starts. `ReturnsCheck` and
`TeamCheck` check the values of all later calls; adapters of arenas and the wrappers of
`checked_environment` apply them. Returned values are converted if the conversion is lossless: a list to an
array, an array of size 1 to a number. The first NaN or infinity raises `EnvironmentFault`, with step, episode
and seed.
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
import sys
import warnings
from collections.abc import Mapping  # typing's is ten times as slow in `isinstance`
from importlib import import_module
from numbers import Real
from typing import Any, Callable

from mosaic_contract import registry
from mosaic_contract.errors import ConfigError, EnvironmentFault, EnvironmentMissing, one_line, quoted
from mosaic_contract.observation_check import Convert, Misfit, NotFinite, converter, excluded_numbers

_FORMS = {"reset": "(observation, info)", "step": "(observation, reward, terminated, truncated, info)"}
_VALUES = {"reset": 2, "step": 5}
_MAX_REWARD = 3.4e38
"""Libraries store rewards in 32 bits, where anything larger is infinite."""

log = logging.getLogger("mosaic_contract")


def probe(env_id: str, make: Callable[[], Any]) -> tuple[Any, Mapping[str, Any]]:
    """Make an environment, reset it and step it once. Return it, closed, and the info of its reset.

    Raises `ConfigError` if it cannot be made (`EnvironmentMissing` if it is not installed) or reset, if its
    id lacks the version, and for returned values that violate its spaces or its interface. An exception
    raised by `step` is left to the training, which fails with it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            env = make()
        except ConfigError:
            raise
        except Exception as error:  # environments raise arbitrary exceptions
            raise unmakeable(env_id, error) from None
        try:
            _check_version(env, env_id)
            return env, _try_out(env, env_id)
        except EnvironmentFault as fault:
            raise ConfigError(str(fault)) from None
        finally:
            close(env, env_id)


def unmakeable(env_id: str, error: Exception) -> ConfigError:
    """Return the error about an environment whose creation has raised `error`."""
    missing: tuple[type[Exception], ...] = (ImportError,)
    for name in ("gymnasium", "gym"):
        if (library := sys.modules.get(name)) is not None:
            missing += library.error.UnregisteredEnv, library.error.DependencyNotInstalled
            if type(error) is library.error.Error:  # an id that the library cannot parse
                missing += (library.error.Error,)
    why = f"environment {env_id!r} cannot be made here: {one_line(error)}"
    if not isinstance(error, missing):
        return ConfigError(why)
    if (similar := registry.similar_id(env_id)) is not None:
        why = f"{why.partition(' Did you mean')[0].rstrip('.')}; did you mean {similar!r}?"
    return EnvironmentMissing(why)


def _check_version(env: Any, env_id: str) -> None:
    """Raise `ConfigError` for an id that Gymnasium completed: the newest version depends on the release."""
    made_id, name = str(getattr(getattr(env, "spec", None), "id", "")), env_id.rpartition(":")[2]
    if made_id.startswith(f"{name}-v"):
        complete = env_id + made_id[len(name) :]
        raise ConfigError(f"environment {env_id!r} lacks its version: write {complete!r}")


def close(env: Any, env_id: str) -> None:
    """Close an environment; exceptions raised by its `close` are logged."""
    try:
        env.close()
    except (Exception, SystemExit) as error:  # environments raise arbitrary exceptions
        log.warning("close() of %s has failed: %s", env_id, one_line(error))


def offers(env: Any, name: str) -> bool:
    """Return whether an environment has an attribute, without the warning of Gymnasium 0.29's wrappers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasattr(env, name)


def check_first_returns(env: Any, env_id: str) -> None:
    """Check the form of the values that the environment's own code returns from its first reset and first
    step. The check is below Gymnasium's wrappers, which would fail with less helpful messages."""
    inner, gymnasium = getattr(env, "unwrapped", env), sys.modules.get("gymnasium")
    if gymnasium is None or not isinstance(inner, gymnasium.Env):
        return
    for name in _FORMS:
        _check_first_return(inner, name, env_id)


def _check_first_return(inner: Any, name: str, env_id: str) -> None:
    method = getattr(inner, name)

    def check_once(*args: Any, **kwargs: Any) -> Any:
        delattr(inner, name)  # later calls reach the method itself
        returned = method(*args, **kwargs)
        check_form(name, returned, env_id)
        return returned

    try:
        setattr(inner, name, check_once)
    except AttributeError:  # an object that does not accept attributes
        return


def check_form(name: str, returned: Any, env_id: str, interface: str = "Gymnasium") -> None:
    """Raise `EnvironmentFault` if the return value of `reset` or `step` has the wrong form."""
    if not isinstance(returned, (tuple, list)):
        has = "only an observation" if name == "reset" else f"a {type(returned).__name__}"
    elif len(returned) != _VALUES[name]:
        has = f"{len(returned)} values"
    elif not isinstance(returned[-1], Mapping):
        has = f"a {type(returned[-1]).__name__} as its info"
    else:
        return
    raise EnvironmentFault(f"{name}() of {env_id} returns {has}; {interface}'s returns {_FORMS[name]}")


def _try_out(env: Any, env_id: str) -> Mapping[str, Any]:
    """Reset an environment and step it once. Return the info of its reset. Raises `EnvironmentFault`."""
    team = offers(env, "possible_agents")
    if not team:
        for name in ("observation_space", "action_space"):
            _check_space(name, getattr(env, name, None), env_id)
        check_first_returns(env, env_id)
    try:
        if offers(env, "agent_iter"):
            env.reset(seed=0)
            return {}
        check: Any = TeamCheck(env, env_id) if team else ReturnsCheck(env.observation_space, env_id)
        check.begin(0)
        observation, info = check.reset(env.reset(seed=0))
    except EnvironmentFault:
        raise
    except Exception as error:  # environments raise arbitrary exceptions
        raise EnvironmentFault(_unresettable(env, env_id, error)) from None
    check.compare("reset", observation)
    space = env.action_space
    if not team:
        check_mask(info, space, env_id)
    for agent in env.agents if team else ():
        _check_space(f"action_space({agent!r})", space(agent), env_id)
    actions = {agent: _sample(space(agent)) for agent in env.agents} if team else _sample(space)
    try:
        returned = env.step(actions)
    except EnvironmentFault:
        raise
    except Exception as error:  # a random action may be the cause
        log.info("the first step of %s, by a random action, has failed: %s", env_id, one_line(error))
        return info
    check.compare("step", check.step(returned)[0])
    return info


def check_mask(info: Mapping[str, Any], space: Any, env_id: str) -> None:
    """Raise `EnvironmentFault` unless the mask in an info has one number for each action of a Discrete
    space."""
    mask = info.get("action_mask")
    if mask is None or type(space).__name__ != "Discrete":
        return
    shape = tuple(import_module("numpy").shape(mask))
    if shape != (space.n,):
        raise EnvironmentFault(
            f"the action_mask in the info of {env_id} has the shape {shape}; its {space.n} actions need "
            f"({space.n},)"
        )


def mask_method(env: Any) -> Any:
    """Return the `action_masks` method of an environment, sb3-contrib's convention; None without it."""
    try:
        return env.get_wrapper_attr("action_masks")
    except AttributeError:
        return None


def _check_space(name: str, space: Any, env_id: str) -> None:
    if not (hasattr(space, "sample") and hasattr(space, "seed")):
        raise EnvironmentFault(f"{name} of {env_id} is {quoted(space)}, not a space of Gymnasium")


def _sample(space: Any) -> Any:
    space.seed(0)
    return space.sample()


def _unresettable(env: Any, env_id: str, error: Exception) -> str:
    if isinstance(error, TypeError) and not _takes_seed(getattr(env, "unwrapped", env).reset):
        return f"reset() of {env_id} takes no seed; Gymnasium's is reset(*, seed=None, options=None)"
    return f"environment {env_id!r} cannot be reset here: {one_line(error)}"


def _takes_seed(reset: Any) -> bool:
    try:
        parameters = inspect.signature(reset).parameters
    except (TypeError, ValueError):  # some methods written in C have no signature
        return True
    return "seed" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


class EpisodeCheck:
    """The progress of an environment: steps, episodes, the latest seed."""

    def __init__(self, env_id: str) -> None:
        self.env_id = env_id
        self.steps = self.episode = 0
        self._seed: int | None = None

    def begin(self, seed: Any, episode: int | None = None) -> None:
        """Begin an episode with this number, or the next one. A reset without a seed keeps the latest
        seed."""
        if episode is not None or self.steps:
            self.episode = self.episode + 1 if episode is None else episode
        self.steps = 0
        if seed is not None:
            self._seed = seed

    @property
    def _when(self) -> str:
        seed = "" if self._seed is None else f", seed {self._seed}"
        return f"at step {self.steps} (episode {self.episode}{seed})"

    def not_finite(self, quantity: str, value: Any) -> EnvironmentFault:
        return EnvironmentFault(f"the environment's {quantity} was {value} {self._when}")

    def observation(self, convert: Convert, value: Any, method: str, owner: str = "") -> Any:
        try:
            return convert(value)
        except NotFinite as fault:
            raise self.not_finite(f"observation{fault.path}{owner}", fault) from None
        except Misfit as misfit:
            raise self.misfit(misfit, method, owner) from None

    def misfit(self, misfit: Misfit, method: str, owner: str = "") -> EnvironmentFault:
        subject = f"observation{misfit.path}{owner}"
        late = f" {self._when}" if self.episode or self.steps > 1 else ""
        return EnvironmentFault(f"the {subject} that {method}() of {self.env_id} returns{late} {misfit}")

    def reward(self, value: Any, owner: str = "") -> float:
        """Return a reward as a number."""
        try:
            number = value if isinstance(value, (float, int)) else self._single(value)
            reward = float(number)
        except OverflowError:  # an integer of more than 308 digits
            reward = math.inf if number > 0 else -math.inf
        except (TypeError, ValueError):
            raise EnvironmentFault(
                f"step() of {self.env_id} returns {quoted(value)} as the reward{owner}; a number is needed"
            ) from None
        if not abs(reward) <= _MAX_REWARD:
            beyond = f", beyond the {_MAX_REWARD} of 32-bit numbers" if math.isfinite(reward) else ""
            raise EnvironmentFault(f"{self.not_finite(f'reward{owner}', reward)}{beyond}")
        return reward

    def flag(self, name: str, value: Any, owner: str = "") -> bool:
        """Return `terminated` or `truncated` as a bool."""
        try:
            return bool(value if isinstance(value, int) else self._single(value))
        except (TypeError, ValueError):
            raise EnvironmentFault(
                f"step() of {self.env_id} returns {quoted(value)} as {name}{owner}; True or False is needed"
            ) from None

    def _single(self, value: Any) -> Any:
        """Return a number, or the only number of an array or a list. Raises `ValueError` for other values."""
        if not (hasattr(value, "item") and getattr(value, "shape", None) == ()):
            value = import_module("numpy").asarray(value)
        number = value.item()  # also from arrays on a GPU, which NumPy does not read
        if not isinstance(number, Real):
            raise ValueError("not a single number")
        return number


class ReturnsCheck(EpisodeCheck):
    """The check of the values returned by one Gymnasium environment, in the order of its calls."""

    def __init__(self, observation_space: Any, env_id: str) -> None:
        super().__init__(env_id)
        self._space = observation_space
        self._convert_first = converter(observation_space)
        self._convert = converter(observation_space, contained=True)

    def reset(self, returned: Any) -> tuple[Any, Mapping[str, Any]]:
        """Return the result of `reset`, converted. Raises `EnvironmentFault`."""
        check_form("reset", returned, self.env_id)
        return self.observation(self._convert_first, returned[0], "reset"), returned[1]

    def step(self, returned: Any) -> tuple[Any, float, bool, bool, Any]:
        """Return the result of `step`, converted. Raises `EnvironmentFault`."""
        self.steps += 1
        observation, reward, terminated, truncated, info = returned
        if type(reward) is not float or not abs(reward) <= _MAX_REWARD:
            reward = self.reward(reward)
        if type(terminated) is not bool:
            terminated = self.flag("terminated", terminated)
        if type(truncated) is not bool:
            truncated = self.flag("truncated", truncated)
        try:
            observation = self._convert(observation)
        except Misfit:
            self.observation(self._convert, observation, "step")
        return observation, reward, terminated, truncated, info

    def compare(self, method: str, observation: Any) -> None:
        """Raise `EnvironmentFault` if a converted observation has values outside its space."""
        for misfit in excluded_numbers(self._space, observation):
            raise self.misfit(misfit, method)


class TeamCheck(EpisodeCheck):
    """The check of the values returned by a parallel PettingZoo environment."""

    def __init__(self, env: Any, env_id: str) -> None:
        super().__init__(env_id)
        self._spaces = {agent: env.observation_space(agent) for agent in env.possible_agents}
        self._converters = {
            method: {
                agent: converter(space, contained=method == "step") for agent, space in self._spaces.items()
            }
            for method in ("reset", "step")
        }

    def reset(self, returned: Any) -> tuple[dict[Any, Any], Mapping[Any, Any]]:
        """Return the result of `reset`, converted. Raises `EnvironmentFault`."""
        check_form("reset", returned, self.env_id, "PettingZoo")
        return self._observations(returned[0], "reset"), returned[1]

    def step(self, returned: Any) -> tuple[dict[Any, Any], dict[Any, float], Any, Any, Any]:
        """Return the result of `step`, converted. Raises `EnvironmentFault`."""
        if not self.steps:
            check_form("step", returned, self.env_id, "PettingZoo")
        self.steps += 1
        observations, rewards, terminated, truncated, infos = returned
        return (
            self._observations(observations, "step"),
            self._by_agent("rewards", rewards, float, self.reward),
            self._by_agent("terminated", terminated, bool, functools.partial(self.flag, "terminated")),
            self._by_agent("truncated", truncated, bool, functools.partial(self.flag, "truncated")),
            infos,
        )

    def compare(self, method: str, observations: Mapping[Any, Any]) -> None:
        """Raise `EnvironmentFault` if a converted observation has values outside its space."""
        for agent, observation in observations.items():
            for misfit in excluded_numbers(self._spaces[agent], observation):
                raise self.misfit(misfit, method, f" of {agent}")

    def _by_agent(self, name: str, values: Any, kind: Any, read: Callable[[Any, str], Any]) -> dict[Any, Any]:
        """Return the values by agent, converted by `read` unless they are of this kind already."""
        self._check_mapping("step", name, values)
        return {
            agent: value if type(value) is kind and abs(value) <= _MAX_REWARD else read(value, f" of {agent}")
            for agent, value in values.items()
        }

    def _check_mapping(self, method: str, label: str, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise EnvironmentFault(
                f"{method}() of {self.env_id} returns {quoted(values)} as its {label}; PettingZoo's are a "
                "dict with the agents as keys"
            )

    def _observations(self, observations: Mapping[Any, Any], method: str) -> dict[Any, Any]:
        self._check_mapping(method, "observations", observations)
        converters = self._converters[method]
        if unknown := [agent for agent in observations if agent not in converters]:
            raise EnvironmentFault(
                f"{method}() of {self.env_id} returns an observation of {unknown[0]}, which is not among its "
                f"possible_agents: {', '.join(map(str, converters))}"
            )
        try:
            return {agent: converters[agent](value) for agent, value in observations.items()}
        except Misfit:
            return {
                agent: self.observation(converters[agent], value, method, f" of {agent}")
                for agent, value in observations.items()
            }
