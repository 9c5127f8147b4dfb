"""The request of an evaluation: the arguments of `Lab.evaluate` as one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic_contract.codec import with_tuples

from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.evaluation.plan import EvaluationPlan, OnFailure, SeedSequence


class EvaluateRequest(CompareRequest, kw_only=True, frozen=True):
    """The arguments of `Lab.evaluate` as given, before `plan_evaluation` validates them.

    They are also the keys of a script. Only scripts have ``module``: the file or folder of the user's module
    that makes the environment; default: found on PYTHONPATH.
    """

    seeds: Iterable[int] = range(100)
    episodes: int = 1
    parallel: int | None = None
    on_failure: OnFailure = "stop"
    seed_sequence: SeedSequence = "procedural"
    step_delay: float = 0.0
    budget: Mapping[str, float] | None = None
    replay: Any = None
    on: str | None = None
    module: Path | str | None = None

    @classmethod
    def of_plan(cls, plan: EvaluationPlan) -> EvaluateRequest:
        """Return the request of an evaluation that plays the same episodes in the same way."""
        return cls(
            env=plan.env_id,
            operators={label: plan.mapping(label) for label in plan.lanes},
            seeds=plan.seeds,
            env_kwargs=with_tuples(plan.settings) or None,
            max_steps=plan.max_steps,
            step_timeout=plan.step_timeout,
            family=plan.family,
            pass_env=tuple(plan.pass_env),
            episodes=plan.episodes,
            parallel=plan.parallel,
            on_failure=plan.on_failure,
            seed_sequence=plan.seed_sequence,
            step_delay=plan.step_delay,
            budget=plan.budget,
            replay=plan.replay,
            on=plan.on,
        )
