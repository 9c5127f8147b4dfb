"""Operators that act by trained policies, from this worker's checkpoints or from other zip files.

Without `deterministic`, actions are sampled as by upstream's `predict`: from the policy's distribution, or at
random with the exploration rate at the end of the training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.spaces import start_of
from mosaic_contract.trained_policy import AgentGenerators, trained_policy, transform_of

from .algorithms import ALGORITHMS
from .config import FORMAT
from .environments import flat_mask
from .foreign import foreign_policy
from .saved_policy import SavedPolicy, load_policy


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    import torch

    torch.set_num_threads(1)
    if "trust" in setup.settings:
        saved, name, deterministic, normalize = foreign_policy(setup)
        return Sb3Operator(saved, name, deterministic, setup.seed, normalize)
    saved, described, deterministic = trained_policy(setup, FORMAT, ALGORITHMS, _make)
    observe = transform_of(described).observe
    operator = Sb3Operator(saved, described["algorithm"], deterministic, setup.seed, observe)
    return through_wrappers(described, operator)


def _make(path: Path, described: Mapping[str, Any]) -> SavedPolicy:
    observations, actions = make_space(transform_of(described).space), make_space(described["action_space"])
    return load_policy(path, ALGORITHMS[described["algorithm"]], observations, actions)


class Sb3Operator:
    """An operator that acts for one agent by its policy, with its own random generators."""

    def __init__(
        self,
        saved: SavedPolicy,
        algorithm: str,
        deterministic: bool,
        seed: int | None,
        observe: Callable[[Any], Any] | None = None,
    ) -> None:
        self._policy = saved.of_one_agent()
        self._deterministic, self._use_sde = deterministic, saved.use_sde
        self._exploration = 0.0 if deterministic else saved.exploration
        self._masked = ALGORITHMS[algorithm].masked
        self._start = start_of(self._policy.action_space)
        self._observe = observe or (lambda observation: observation)
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
        space: Any = self._policy.action_space
        if self._exploration and self._generators.numpy.random() < self._exploration:
            return self._start + int(self._generators.numpy.integers(space.n))
        masks = {"action_masks": flat_mask(action_mask)} if self._masked and action_mask is not None else {}
        with self._generators.torch_generator():
            action, self._state = self._policy.predict(
                _arrays(self._observe(observation)),
                state=self._state,
                episode_start=np.array([self._starts]),
                deterministic=self._deterministic,
                **masks,
            )
        self._starts = False
        return self._start + int(action) if action.ndim == 0 else action.astype(space.dtype, copy=False)


def _arrays(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        return {key: np.asarray(part) for key, part in observation.items()}
    return np.asarray(observation)
