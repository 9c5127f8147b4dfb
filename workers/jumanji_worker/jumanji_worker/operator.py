"""Operators that act from a checkpoint, with upstream's own networks."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Callable

import jax
import numpy as np
from mosaic_contract import AgentSetup
from mosaic_contract.hyperparameters import env_kwargs_of
from mosaic_contract.policy_queries import ACTION, PolicyQueries
from mosaic_contract.trained_policy import trained_policy

from .config import JumanjiPlan, module_of
from .environments import make
from .hyperparameters import ALGORITHMS
from .spaces import like

Act = Callable[[Any, Any], Any]


def operate(setup: AgentSetup) -> JumanjiOperator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    policy, described, deterministic = trained_policy(setup, JumanjiPlan.FORMAT, ALGORITHMS, JumanjiPolicy)
    return JumanjiOperator(policy, described, deterministic, setup.seed)


class JumanjiPolicy:
    """A checkpoint's policy, with its best and its sampled actions."""

    def __init__(self, path: Path, described: dict[str, Any]) -> None:
        env = make(described["env_id"], env_kwargs_of(described["hyperparameters"]))
        policy_of = module_of(described["algorithm"]).policy_of
        self._template = jax.device_get(env.observation_spec.generate_value())
        self._make_policy = functools.partial(policy_of, path, described, env)
        self.compiled = functools.cache(self._compiled)
        self.compiled_together = functools.cache(self._compiled_together)

    def _compiled(self, deterministic: bool) -> Act:
        """Return the function from an observation and a key to a number or an array. Compiled when the
        operator is made."""
        choose = jax.jit(self._make_policy(deterministic=deterministic))
        choose(self._template, jax.random.PRNGKey(0))

        def act(observation: Any, key: Any) -> Any:
            action = np.asarray(choose(like(self._template, observation), key))
            return action if action.ndim else int(action)

        return act

    def _compiled_together(self, deterministic: bool) -> Act:
        """Return the function from N observations and a key to N actions. Compiled once for each N."""
        choose = jax.jit(jax.vmap(self._make_policy(deterministic=deterministic)))

        def act(observations: Any, key: Any) -> Any:
            count = len(jax.tree.leaves(observations)[0])
            rows = jax.tree.map(
                lambda array: np.broadcast_to(array, (count, *np.shape(array))), self._template
            )
            return np.asarray(choose(like(rows, observations), jax.random.split(key, count)))

        return act


class JumanjiOperator:
    """An operator that acts for one agent, with its own random numbers."""

    def __init__(
        self, policy: JumanjiPolicy, described: dict[str, Any], deterministic: bool, seed: int | None
    ) -> None:
        self._act = policy.compiled(deterministic)
        self._act_together = functools.partial(policy.compiled_together, deterministic)
        self._space = described["observation_space"]
        self.episode_begin(0 if seed is None else seed, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Set the PRNG key from the seed; without a seed its stream continues."""
        if seed is not None:
            self._key = jax.random.PRNGKey(seed)

    def select_action(self, observation: Any) -> Any:
        return self._act(observation, self._next_key())

    def queries(self) -> PolicyQueries:
        """Return the only query that the policy answers: actions."""

        def actions(observations: Any, state: Any) -> Any:
            return self._act_together()(observations, self._next_key())

        return PolicyQueries(self._space, {ACTION: actions})

    def _next_key(self) -> Any:
        self._key, key = jax.random.split(self._key)
        return key
