"""Checks of an evaluation on a cluster, before anything starts."""

from __future__ import annotations

from typing import Any

from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.engines import clusters
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.validation import Problems
from mosaic_lab.workers.catalog import info
from mosaic_lab.workers.shims import bundled_shims
from mosaic_lab.workers.worker_environment import THIRD_PARTY

_HERE = "leave out on= to play it on this machine"


def check_cluster(on: Any, plan: ArenaPlan, budget: Any, replay: Any, problems: Problems) -> None:
    """Add what prevents an evaluation on the cluster ``on`` to the problems."""
    try:
        clusters.find(on)
    except ConfigurationError as error:
        problems.add("on", str(error))
    if budget is not None or replay is not None:
        name = "budget" if replay is None else "replay"
        problems.add("on", f"{name}: language models and recordings are played on this machine only: {_HERE}")
    for label, lane in plan.lanes.items():
        for key in lane.values():
            if why := _refusal(plan.operators[key]):
                problems.add(f"operators.{label}", f"{label}: {why}: {_HERE}")


def _refusal(spec: OperatorSpec) -> str:
    if spec.is_language_model:
        return f"{spec.name} calls a language model, whose key and recording stay on this machine"
    if spec.is_recorded:
        return f"{spec.name} is a program of this machine, whose moves are recorded here"
    if spec.code is not None:
        return f"{spec.name} is code of yours, which nodes of a cluster do not have"
    return ""


def check_workers(plan: EvaluationPlan) -> None:
    """Raise ConfigurationError for a worker that the nodes of a cluster cannot build."""
    for name in sorted(plan.workers):
        if name not in bundled_shims() or info(name).origin == THIRD_PARTY:
            raise ConfigurationError(
                f"worker {name!r} does not come with MOSAIC Lab, so nodes of a cluster cannot build it: "
                f"{_HERE}"
            )
