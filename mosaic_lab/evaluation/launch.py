"""The start of an evaluation: plan it, install its workers, launch its process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_contract.arrays import is_numeric
from mosaic_contract.policy_queries import MAX_ELEMENTS, WIDTH
from msgspec import structs

from mosaic_lab.arenas.arena_workers import (
    environment_info,
    environment_worker,
    operator_commands,
    with_provider,
)
from mosaic_lab.arenas.datasets import check_recordable, warn_of_size
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import bridge_python
from mosaic_lab.evaluation.evaluation import Evaluation, start
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.planning import check_consent, check_workers, plan_evaluation
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.operators import OperatorSpec, python_policy
from mosaic_lab.operators.spec import DEADLINE
from mosaic_lab.policies import check_lanes
from mosaic_lab.runs import Supervisor
from mosaic_lab.workers import find

BATCH = WIDTH
"""Maximum number of episodes that an arena plays together."""


def evaluate(
    supervisor: Supervisor,
    request: EvaluateRequest,
    progress: Callable[[str], None] = print,
    league: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Plan and start an evaluation; ``progress`` is called with a line for each worker that is installed. For
    ``league``, see `start`."""
    plan = _ready(plan_evaluation(request, supervisor.run), request.family, supervisor.store.root, progress)
    return start(supervisor, plan, "evaluation" if league is None else "league", league, request)


def evaluate_script(
    supervisor: Supervisor,
    path: Path | str,
    progress: Callable[[str], None] = print,
    *,
    run_code: bool = False,
    **changes: Any,
) -> Evaluation:
    """Start the evaluation described by a file; see `mosaic_lab.evaluation.scripts` and `check_consent`.

    ``changes`` override the file's ``budget``, ``replay`` or cluster (``on``).
    """
    request, problems = read_script(path, supervisor.run)
    request = structs.replace(request, **changes)
    plan = plan_evaluation(request, supervisor.run, problems)
    check_consent(plan, Path(path).name, run_code)
    return start(supervisor, _ready(plan, request.family, supervisor.store.root, progress), request=request)


def _ready(
    plan: EvaluationPlan, family: str | None, store: Path, progress: Callable[[str], None]
) -> EvaluationPlan:
    """Return the plan with its environment's worker (``family`` if given) and commands. Raises
    ConfigurationError if the environment cannot be made or the operators do not fit its agents."""
    plan = equipped(with_provider(plan, family, progress), progress)
    environment = environment_info(plan, progress)
    check_lanes({label: plan.mapping(label) for label in plan.lanes}, environment)
    plan = replace(plan, batches=batches(plan, environment))
    check_recordable(plan.request, environment)
    warn_of_size(plan.request, environment, len(plan.jobs()), store)
    plan.warn()  # after the checks, whose error for operators that do not fit says the same
    return plan


def batches(plan: EvaluationPlan, environment: EnvironmentInfo) -> dict[str, int]:
    """Return `EvaluationPlan.batches`: the lanes with small observations of a fixed shape, whose workers act
    in several episodes at once.

    Lanes that record observations or have a start, a step delay or a deadline of their own play one episode
    at a time.
    """
    request = plan.request
    if environment.paradigm != "single_agent" or request.record or request.start or request.step_delay:
        return {}
    (agent,) = environment.agents
    space = environment.spaces[agent]["observation"]
    if not 0 < _size(space) <= MAX_ELEMENTS:
        return {}
    return {
        label: BATCH
        for label in plan.lanes
        if all(_acts_in_batches(spec, space) for spec in plan.mapping(label).values())
    }


def _acts_in_batches(spec: OperatorSpec, space: Mapping[str, Any]) -> bool:
    if spec.worker == python_policy.WORKER and not (spec.settings.get("batched") and space["type"] == "Box"):
        return False
    worker = None if spec.worker is None else find(spec.worker)
    waits = spec.fallback == "wait" and spec.deadline in (None, DEADLINE) and not spec.needs
    return waits and worker is not None and worker.capabilities.acts_in_batches


def _size(space: Mapping[str, Any]) -> int:
    """Return the number of elements in a described space; 0 if it varies."""
    if space["type"] in ("Dict", "Tuple"):
        inner = space["spaces"]
        sizes = [_size(part) for part in (inner.values() if isinstance(inner, Mapping) else inner)]
        return sum(sizes) if all(sizes) else 0
    return math.prod(space["shape"]) if is_numeric(space.get("dtype")) else 0


def equipped(plan: EvaluationPlan, progress: Callable[[str], None] = print) -> EvaluationPlan:
    """Return the plan with the commands of its workers, after installing missing ones and, for a cluster, the
    environment of its bridge."""
    worker = environment_worker(plan.family, progress)
    commands = operator_commands(plan.operators.values(), progress)
    if plan.request.on is not None:
        check_workers(plan)
        bridge_python(clusters.find(plan.request.on), progress)
    return replace(plan, arena=worker.command(), commands=commands)
