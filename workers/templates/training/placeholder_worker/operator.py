"""An operator, which acts for one agent with the policy of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import numpy
from mosaic_contract import AgentSetup
from mosaic_contract.trained_policy import trained_policy

from .algorithms import ALGORITHMS
from .training import FORMAT


class Policy:
    """Chooses the action with the highest value; `deterministic` has no effect."""

    def __init__(self, setup: AgentSetup) -> None:
        self._weights, described, _ = trained_policy(setup, FORMAT, ALGORITHMS, load)
        self._start = described["action_space"].get("start", 0)

    def select_action(self, observation: Any) -> int:
        # FILL IN: query the library's policy. Random numbers come from `setup.seed` and the
        # seed of `episode_begin(seed, episode_index)`, so that the same seeds give the same episode.
        return int((observation @ self._weights).argmax()) + self._start


def load(path: Path, description: Mapping[str, Any]) -> Any:
    """Return the policy of a checkpoint. FILL IN: load weights only, never a pickle."""
    return numpy.load(path, allow_pickle=False)
