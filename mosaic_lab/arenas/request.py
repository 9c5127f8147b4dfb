"""The request of a comparison: the arguments of `Lab.compare`, as one value, and their check.

A keyword of comparisons and evaluations is a parameter of `mosaic_lab.Lab`, a field of `CompareRequest` and,
checked, of `ArenaPlan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from mosaic_lab import workers
from mosaic_lab.arenas.lane_operators import LaneOperators
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.request_checks import (
    check_count,
    check_env_kwargs,
    check_family,
    check_pass_env,
    check_seeds,
    check_step_timeout,
)
from mosaic_lab.defaults import STEP_TIMEOUT
from mosaic_lab.errors import MosaicError
from mosaic_lab.validation import Problems


class CompareRequest(Struct, kw_only=True, frozen=True):
    """The arguments of `Lab.compare`, as given: `plan_arenas` checks them."""

    env: str | None = None
    operators: Mapping[str, Any] | None = None
    policies: Mapping[str, Any] | None = None
    seeds: Iterable[int] = ()
    env_kwargs: Mapping[str, Any] | None = None
    max_steps: int | None = None
    step_timeout: float = STEP_TIMEOUT
    deadline: float | None = None
    fallback: str | None = None
    family: str | None = None
    pass_env: Iterable[str] = ()


def plan_arenas(request: CompareRequest, problems: Problems, recorded: bool = False) -> ArenaPlan:
    """Return the plan of a request. Nothing is installed or started.

    Everything that is wrong is added to ``problems``; the plan is valid where that stays empty. ``recorded``:
    language models answer from a recording, so that none of their keys has to be set.
    """
    lanes = LaneOperators(problems, request.deadline, request.fallback, recorded)
    lanes.add_lanes(request.operators, request.policies)
    if request.max_steps is not None:
        check_count("max_steps", request.max_steps, problems)
    plan = ArenaPlan(
        env_id=request.env or "",
        operators=lanes.operators,
        lanes=lanes.lanes,
        max_steps=request.max_steps,
        step_timeout=check_step_timeout(request.step_timeout, problems),
        seeds=check_seeds(request.seeds, problems),
        settings=check_env_kwargs(request.env_kwargs, problems),
        pass_env=check_pass_env(request.pass_env, problems),
        family=check_family(request.env, request.family, problems),
    )
    for worker in sorted({spec.worker for spec in lanes.operators.values() if spec.worker is not None}):
        try:
            workers.info(worker)
        except MosaicError as error:
            problems.add("operators", str(error))
    return plan
