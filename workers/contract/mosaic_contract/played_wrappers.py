"""Policies that play through the wrappers of their training.

An operator observes what an arena's environment returns, and its actions are that environment's: the wrappers
are applied to an environment that only passes both on (`outside_class`).
"""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from importlib import import_module
from typing import Any, Mapping

from mosaic_contract.atari import ATARI, SPACE, as_trained
from mosaic_contract.checkpoints import wrappers_of
from mosaic_contract.gymnasium_wrappers import TRAINING_ONLY, Statistics, layers, name_of, outside_class
from mosaic_contract.operators import Operator, accepted_hints
from mosaic_contract.policy_queries import ACTION, PolicyQueries, queries_of
from mosaic_contract.spaces import describe_space, make_space
from mosaic_contract.wrappers import is_plain, wrap

_TRAINED = "trained_with"  # the key of the description before its spaces were replaced


def as_policy_sees(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description with the spaces that its policy sees. If all wrappers are transforms of single
    observations, which operators apply, they remain its "wrappers"."""
    wrappers = [wrapper for wrapper in wrappers_of(described) if name_of(wrapper) not in TRAINING_ONLY]
    if "agents" in described or all(map(is_plain, wrappers)):
        return {**described, "wrappers": wrappers}
    env, _ = _environment(described)
    return {
        **described,
        "observation_space": describe_space(env.observation_space),
        "action_space": describe_space(env.action_space),
        "wrappers": [],
        _TRAINED: described,
    }


def through_wrappers(described: Mapping[str, Any], operator: Operator) -> Operator:
    """Return an operator that plays in an arena as in its training. `described` is from `as_policy_sees`."""
    if _TRAINED in described:
        operator = _Player(operator, described[_TRAINED])
    return as_trained(described, operator)


def _environment(described: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the environment that passes observations and actions on, within the wrappers and without."""
    wrappers = wrappers_of(described)
    observations = SPACE if ATARI in wrappers else described["observation_space"]
    outside = outside_class()(make_space(observations), make_space(described["action_space"]))
    statistics = Statistics(described.get("wrapper_statistics", {}), plays=True)
    return wrap(outside, wrappers, described["env_id"], statistics), outside


class _Player:
    """A player whose operator acts within the wrappers."""

    def __init__(self, operator: Operator, described: Mapping[str, Any]) -> None:
        self._operator, self._described = operator, described
        self._env, self._outside = _environment(described)
        action_wrapper = import_module("gymnasium").ActionWrapper
        self._actions = [layer for layer in layers(self._env) if isinstance(layer, action_wrapper)]
        self._hints = accepted_hints(operator.select_action)
        self._is_first = True
        self._choice: Any = None

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._is_first = True
        begin = getattr(self._operator, "episode_begin", None)
        if begin is not None:
            begin(seed, episode_index)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def select_action(self, observation: Any, **hints: Any) -> Any:
        self._outside.observation = observation
        observed = self._env.reset()[0] if self._is_first else self._env.step(self._choice)[0]
        self._is_first = False
        accepted = {name: hints[name] for name in self._hints if name in hints}
        self._choice = self._operator.select_action(observed, **accepted)
        self._outside.expected_action = action = self._convert(self._choice)
        return action

    def queries(self) -> PolicyQueries | None:
        """Return the operator's queries, of observations and actions outside the wrappers."""
        inner = queries_of(self._operator)
        if inner is None:
            return None
        observe, choose = inner.observe, inner.answers[ACTION]

        def input_of(observation: Any, alone: bool) -> Any:
            observed = self._observe(observation, alone and not self._is_first)
            return observed if observe is None else observe(observed, alone)

        def actions(inputs: Any, state: Any) -> Any:
            return import_module("numpy").stack([self._convert(choice) for choice in choose(inputs, state)])

        return replace(
            inner,
            observation_space=self._described["observation_space"],
            answers={**inner.answers, ACTION: actions},
            observe=input_of,
            memoryless=False,  # wrappers may remember
        )

    def _observe(self, observation: Any, follows: bool) -> Any:
        """Return an observation as the wrappers show it: as the next one of the episode if it `follows`,
        without affecting the episode, otherwise as the first of another."""
        if follows:
            env = copy.deepcopy(self._env)
            env.unwrapped.observation = observation
            return env.step(self._choice)[0]
        env, outside = self._query_environment
        outside.observation = observation
        return env.reset()[0]

    @functools.cached_property
    def _query_environment(self) -> tuple[Any, Any]:
        return _environment(self._described)

    def _convert(self, choice: Any) -> Any:
        """Return the environment's action for an action of the operator."""
        action = choice
        for layer in self._actions:
            action = layer.action(action)
        if hasattr(self._outside.action_space, "low"):
            space = self._outside.action_space
            action = import_module("numpy").clip(action, space.low, space.high).astype(space.dtype)
        return action
