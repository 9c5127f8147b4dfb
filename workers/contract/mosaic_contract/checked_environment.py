"""Environments of trainings, within wrappers that apply the checks of `environment_check`. Gymnasium is
imported when an environment is wrapped."""

from __future__ import annotations

import functools
import logging
import sys
from importlib import import_module
from typing import Any, Mapping, Sequence

from mosaic_contract import registry
from mosaic_contract.atari import ATARI, preprocessed
from mosaic_contract.environment_check import (
    EpisodeCheck,
    ReturnsCheck,
    TeamCheck,
    check_first_returns,
    close,
    offers,
)
from mosaic_contract.gymnasium_wrappers import Wrapper, with_time_limit
from mosaic_contract.spaces import from_zero, start_of
from mosaic_contract.training_recorder import TrainingRecorder, training_recorder

_STATISTICS = "episode"
"""The key of `info` for the episode statistics of library wrappers, which accept nothing else there."""

log = logging.getLogger("mosaic_contract")


def make_for_training(env_id: str, wrappers: Sequence[Wrapper] = (), **settings: Any) -> Any:
    """Make a checked Gymnasium environment for a training, to be completed by `wrappers.wrap`.

    With the wrapper "atari", its steps and observations are preprocessed, but its rewards are the game's
    own. With a time limit, it truncates its episodes. Raises the errors of `registry.make`.
    """
    env = checked(registry.make(env_id, **settings), env_id)
    return with_time_limit(preprocessed(env) if ATARI in wrappers else env, wrappers)


def checked(env: Any, env_id: str, records: bool = True) -> Any:
    """Return a Gymnasium or parallel PettingZoo environment for a training: its returned values are checked,
    discrete actions start at 0, and info has no "episode" of its own. `records`: whether its episodes are
    recorded if the training requests it (`record_training`)."""
    if offers(env, "possible_agents"):
        return CheckedTeam(env, env_id)
    check_first_returns(env, env_id)
    return _checked_class()(env, env_id, training_recorder(env, env_id) if records else None)


class TeamWrapper:
    """A parallel PettingZoo environment within a wrapper. Attributes that a wrapper does not define are the
    environment's."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.env, name)


class CheckedTeam(TeamWrapper):
    """A parallel PettingZoo environment with checked returns and actions that start at 0."""

    def __init__(self, env: Any, env_id: str) -> None:
        super().__init__(env)
        self._check: Any = _CheckedByServer(env_id) if _is_served(env) else TeamCheck(env, env_id)
        spaces = {agent: env.action_space(agent) for agent in env.possible_agents}
        self._starts = {agent: start for agent, space in spaces.items() if (start := start_of(space))}
        self._actions = {agent: from_zero(space) for agent, space in spaces.items()}

    def action_space(self, agent: Any) -> Any:
        return self._actions[agent]

    def reset(self, seed: Any = None, options: Any = None) -> tuple[dict[Any, Any], Mapping[Any, Any]]:
        self._check.begin(seed)
        return self._check.reset(self.env.reset(seed=seed, options=options))

    def action(self, actions: Mapping[Any, Any]) -> Mapping[Any, Any]:
        if not self._starts:
            return actions
        return {agent: action + self._starts.get(agent, 0) for agent, action in actions.items()}

    def step(self, actions: Mapping[Any, Any]) -> tuple[Any, ...]:
        return self._check.step(self.env.step(self.action(actions)))

    def close(self) -> None:
        close(self.env, self._check.env_id)


class _CheckedByServer(EpisodeCheck):
    """No check, because the environment's server has already made it."""

    def reset(self, returned: Any) -> Any:
        return returned

    def step(self, returned: Any) -> Any:
        return returned


def _is_served(env: Any) -> bool:
    served = sys.modules.get("mosaic_contract.environment_server.served")
    return served is not None and isinstance(env, served.Served)


@functools.lru_cache(None)
def _checked_class() -> Any:
    gymnasium = import_module("gymnasium")

    class Checked(gymnasium.Wrapper):  # type: ignore[name-defined]
        """A Gymnasium environment with checked returns and actions that start at 0."""

        def __init__(self, env: Any, env_id: str, recorder: TrainingRecorder | None) -> None:
            super().__init__(env)
            served, space = _is_served(env), env.observation_space
            self._check: Any = _CheckedByServer(env_id) if served else ReturnsCheck(space, env_id)
            self._start = start_of(env.action_space)
            self.action_space = from_zero(env.action_space)
            self._recorder = recorder

        def reset(self, **options: Any) -> tuple[Any, Any]:
            self._check.begin(options.get("seed"))
            observation, info = self._check.reset(self.env.reset(**options))
            if self._recorder is not None:
                self._recorder.begin(options.get("seed"), observation)
            return observation, _readable(info)

        def action(self, action: Any) -> Any:
            return action + self._start if self._start else action

        def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
            env_action = self.action(action)
            observation, reward, terminated, truncated, info = self._check.step(self.env.step(env_action))
            if self._recorder is not None:
                self._recorder.step(env_action, reward, terminated, truncated, observation)
            return observation, reward, terminated, truncated, _readable(info)

        def close(self) -> None:
            if self._recorder is not None:
                self._recorder.close()
            close(self.env, self._check.env_id)

    return Checked


def _readable(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return info without episode statistics and without keys that are not strings: libraries fail on
    both."""
    left_out = [key for key in info if key == _STATISTICS or not isinstance(key, str)]
    for key in left_out:
        _warn_once(
            f"the key {key!r}, where libraries keep statistics"
            if key == _STATISTICS
            else f"keys of type {type(key).__name__}, not str"
        )
    return {key: value for key, value in info.items() if key not in left_out} if left_out else info


@functools.lru_cache(None)
def _warn_once(keys: str) -> None:
    log.warning("the environment's info has %s: left out", keys)
