"""Operators that act with trained policies, from this worker's checkpoints or from other zip files.

Without `deterministic`, actions are sampled as by upstream's `predict`: from the policy's distribution, or at
random with the exploration rate at the end of the training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.checkpoints import wrappers_of
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import ACTION, PolicyQueries
from mosaic_contract.spaces import start_of
from mosaic_contract.trained_policy import AgentGenerators, trained_policy, transform_of

from .algorithms import ALGORITHMS
from .answers import answers_of, best_of_vectors
from .config import Sb3Plan
from .environments import flat_mask
from .foreign import foreign_policy
from .saved_policy import SavedPolicy, load_policy


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    import torch

    torch.set_num_threads(1)
    if "trust" in setup.settings:
        saved, name, deterministic, space, normalize = foreign_policy(setup)
        return Sb3Operator(saved, name, deterministic, setup.seed, space, normalize)
    saved, described, deterministic = trained_policy(setup, Sb3Plan.FORMAT, ALGORITHMS, _make)
    observe = transform_of(described).observe if wrappers_of(described) else None
    space = described["observation_space"]
    operator = Sb3Operator(saved, described["algorithm"], deterministic, setup.seed, space, observe)
    return through_wrappers(described, operator)


def _make(path: Path, described: Mapping[str, Any]) -> SavedPolicy:
    observations, actions = make_space(transform_of(described).space), make_space(described["action_space"])
    return load_policy(path, ALGORITHMS[described["algorithm"]], observations, actions)


class Sb3Operator:
    """An operator that acts for one agent with its policy, with its own random generators."""

    def __init__(
        self,
        saved: SavedPolicy,
        algorithm: str,
        deterministic: bool,
        seed: int | None,
        space: Mapping[str, Any],
        observe: Callable[[Any], Any] | None = None,
    ) -> None:
        self._policy = saved.of_one_agent()
        self._deterministic, self._use_sde = deterministic, saved.use_sde
        self._exploration = 0.0 if deterministic else saved.exploration
        self._masked = ALGORITHMS[algorithm].masked
        self._start = start_of(self._policy.action_space)
        self._space, self._observe = space, observe
        self._best = best_of_vectors(self._policy) if deterministic else None
        self._generators = AgentGenerators(seed)
        self.episode_begin(None, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode. A seed reseeds the random generators."""
        self._state: Any = None
        self._starts = True
        self._generators.begin(seed)
        if self._use_sde:
            with self._generators.torch_generator():
                self._policy.reset_noise()

    def select_action(self, observation: Any, action_mask: Any = None) -> Any:
        seen = self._input(observation)
        if self._best is not None:
            return self._start + int(self._best(seen[None])[0])
        space: Any = self._policy.action_space
        if self._exploration and self._generators.numpy.random() < self._exploration:
            return self._start + int(self._generators.numpy.integers(space.n))
        masks = {"action_masks": flat_mask(action_mask)} if self._masked and action_mask is not None else {}
        starts = np.array([self._starts])
        action, self._state = self._predict(seen, self._state, starts, **masks)
        self._starts = False
        return self._start + int(action) if action.ndim == 0 else action.astype(space.dtype, copy=False)

    def queries(self) -> PolicyQueries:
        """Return the queries that the policy answers."""
        return PolicyQueries(
            self._space,
            {ACTION: self._actions, **answers_of(self._policy)},
            None if self._observe is None else lambda observation, alone: self._input(observation),
            lambda: self._state,
            memoryless=self._best is not None,
        )

    def _actions(self, inputs: Any, state: Any) -> Any:
        """Return the actions for N inputs, each the first of an episode."""
        if self._best is not None:
            return self._start + self._best(inputs)
        count = len(next(iter(inputs.values())) if isinstance(inputs, Mapping) else inputs)
        actions, _ = self._predict(inputs, state, np.full(count, state is None))
        generator, space = self._generators.numpy, self._policy.action_space
        if self._exploration:
            explores = generator.random(count) < self._exploration
            actions = np.where(explores, generator.integers(space.n, size=count), actions)
        return self._start + actions if actions.ndim == 1 else actions.astype(space.dtype, copy=False)

    def _predict(self, inputs: Any, state: Any, starts: Any, **masks: Any) -> tuple[Any, Any]:
        with self._generators.torch_generator():
            return self._policy.predict(
                inputs, state=state, episode_start=starts, deterministic=self._deterministic, **masks
            )

    def _input(self, observation: Any) -> Any:
        return _arrays(observation if self._observe is None else self._observe(observation))


def _arrays(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        return {key: np.asarray(part) for key, part in observation.items()}
    return np.asarray(observation)
