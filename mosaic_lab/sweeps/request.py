"""The request of a sweep: the arguments of `Lab.sweep` as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sweeps.space import TrialSearch

Search = Mapping[str, Any] | Callable[[TrialSearch], Mapping[str, Any]]

POPULATION = "pbt"
"""The sampler for population-based training (Jaderberg et al. 2017)."""


class SweepRequest(Struct, kw_only=True, frozen=True):
    """The arguments of `Lab.sweep` as given, before `plan_sweep` validates them.

    All trials share ``training``.
    """

    training: TrainRequest
    search: Search
    trials: int = 20
    seeds: Iterable[int] = (1,)
    metric: str = "episode_return"
    mode: str = "max"
    aggregate: str = "mean"
    sampler: str = "tpe"
    pruner: str | None = None
    interval: int | None = None
    seed: int = 0
    parallel: int | None = None
    rounds: bool = False

    @property
    def chosen_pruner(self) -> str:
        """The pruner; default: the sampler's usual one."""
        return self.pruner or ("none" if self.sampler == POPULATION else "asha")
