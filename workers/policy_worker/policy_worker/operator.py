"""A user's policy as an operator."""

from __future__ import annotations

import functools
import inspect
import json
import random
import sys
from pathlib import Path
from typing import Any, Mapping

import numpy
from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.policy_queries import ACTION, PolicyQueries
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text
from mosaic_contract.user_policy import Memory, UserPolicy

_SEED_LIMIT = 2**32  # upper bound of NumPy's seeds


class PolicyOperator:
    """An agent that plays the user's policy. A class or a factory makes an object per agent; a function, an
    object, and an object of a class with ``select_actions`` is shared by all agents.

    The generators of Python, NumPy and PyTorch are seeded for each episode, so that it is reproducible.
    """

    def __init__(self, setup: AgentSetup) -> None:
        self._agent = setup.player_id
        self._space = setup.observation_space
        self._memory: Memory = {}
        _seed(setup.seed)
        self._batched = bool(setup.settings.get("batched"))
        self._policy = _shared(json.dumps(setup.settings)) if self._batched else load(setup.settings)
        self._file = Path(setup.settings["folder"], setup.settings["file"])

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        _seed(seed)
        self._memory.clear()
        self._call(self._policy.episode_begin, seed, episode_index)

    def select_action(
        self,
        observation: Any,
        *,
        action_mask: Any = None,
        info: Mapping[str, Any] | None = None,
        step_index: int | None = None,
    ) -> Any:
        answer = self._call(
            self._policy.select_action,
            _as_gymnasium(observation, self._space),
            self._memory,
            agent=self._agent,
            action_mask=action_mask,
            info=dict(info or {}),
            step_index=step_index,
        )
        if not hasattr(answer, "action"):
            return answer
        action_str, reasoning = (str(getattr(answer, name, "") or "") for name in ("action_str", "reasoning"))
        return Decision(answer.action, action_str, reasoning)

    def queries(self) -> PolicyQueries | None:
        """Return the query for the actions of several observations, if the policy has ``select_actions``."""
        if not self._batched or self._space is None:
            return None

        def select(observations: Any, state: Any) -> Any:
            count = len(observations)
            actions = self._call(lambda: numpy.asarray(self._policy.policy.select_actions(observations)))
            if actions.shape[:1] != (count,):
                raise ConfigError(
                    f"select_actions returned {actions!r:.200}, not an array of {count} actions"
                )
            return actions

        return PolicyQueries(self._space, {ACTION: select}, memoryless=True)

    def episode_end(self, total_reward: float, steps: int) -> None:
        self._call(self._policy.episode_end, total_reward, steps)

    def _call(self, method: Any, *values: Any, **keywords: Any) -> Any:
        """Call the user's code. Errors become `ConfigError`, so that the call is not retried."""
        try:
            return method(*values, **keywords)
        except USER_ERRORS as error:
            raise ConfigError(error_text(error, self._file)) from None


def _seed(seed: int | None) -> None:
    if seed is None:
        return
    random.seed(seed)
    numpy.random.seed(seed % _SEED_LIMIT)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)


def _as_gymnasium(observation: Any, space: Mapping[str, Any] | None) -> Any:
    """Return an observation in the environment's original form: lists become tuples in Tuple spaces."""
    space = space or {}
    space_type = space.get("type")
    if space_type == "Tuple" and isinstance(observation, list):
        return tuple(_as_gymnasium(value, part) for value, part in zip(observation, space["spaces"]))
    if space_type == "Dict" and isinstance(observation, dict):
        return {key: _as_gymnasium(value, space["spaces"].get(key)) for key, value in observation.items()}
    return observation


@functools.lru_cache(maxsize=1)
def _shared(settings: str) -> UserPolicy:
    return load(json.loads(settings))


def load(settings: Mapping[str, Any]) -> UserPolicy:
    """Return the policy in ``settings``: {"folder", "file" (below the folder), "attribute", "keywords"}.

    Changes the working directory of the process to ``folder``. Raises `ConfigError` with the line in the
    user's file.
    """
    target, file = attribute_of(settings)
    attribute, keywords = settings["attribute"], dict(settings.get("keywords") or {})
    try:
        acts = target(**keywords) if _makes(target, keywords) else target
    except USER_ERRORS as error:
        raise ConfigError(f"{attribute} of {file.name} cannot be made: {error_text(error, file)}") from error
    try:
        return UserPolicy(acts)
    except ConfigError as error:
        raise ConfigError(f"{attribute} of {file.name}: {error}") from None


def _makes(target: Any, keywords: Mapping[str, Any]) -> bool:
    """Whether the object is a factory: a class, a callable with given keywords, or a function without
    required arguments.
    """
    if isinstance(target, type) or keywords:
        return True
    if hasattr(target, "select_action") or hasattr(target, "predict") or not callable(target):
        return False
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters
    )
