"""Generate the Python call of `Lab.sweep` that reproduces a sweep."""

from __future__ import annotations

from typing import Any

from msgspec.structs import fields

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs.code_text import Code, call, literal, seeds_code
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.space import Choice, Distribution

_DEFAULTS = {field.name: field.default for field in fields(SweepRequest)}
_OWN = ("metric", "mode", "aggregate", "sampler", "pruner", "interval", "seed", "parallel", "rounds")


def sweep_code(run: RunRecord, lab: str = "lab") -> str:
    """Return an import and the call of ``lab.sweep`` that repeats the search.

    Empty if the run has no plan, or if it searches by a function, whose code is untrusted.
    """
    try:
        plan = SweepPlan.from_config(run.config)
        if plan.space.code is not None:
            return ""
        training = _training(plan)
        usual = SweepRequest(training=training, search={}, sampler=plan.sampler).chosen_pruner
        defaults = {**_DEFAULTS, "pruner": usual}
        named: dict[str, Any] = {
            **{name: value for name, value in training.keywords().items() if name not in ("seed", "stop_at")},
            "search": {
                name: Code(_distribution_code(distribution))
                for name, distribution in plan.space.parameters.items()
            },
            "trials": plan.trials,
            "seeds": seeds_code(plan.seeds),
            **{name: getattr(plan, name) for name in _OWN if getattr(plan, name) != defaults[name]},
        }
        code = call(f"{lab}.sweep", [literal(plan.training.worker)], named)
        return f"import mosaic_lab as mosaic\n\n{code}"
    except (LookupError, TypeError, ValueError, AttributeError, MosaicError):  # untrusted files
        return ""


def _training(plan: SweepPlan) -> TrainRequest:
    training = plan.training
    launched = {
        "gpus": training.gpus,
        "threads": training.threads,
        "films": training.films,
        "environment_names": list(training.pass_env),
        "grace_seconds": training.grace_seconds,
        "on": training.on,
        "restarts": training.restarts,
    }
    return TrainRequest.of_files(training.worker, training.config, launched)


def _distribution_code(distribution: Distribution) -> str:
    if isinstance(distribution, Choice):
        return literal(list(distribution.values))
    bounds = f"{literal(distribution.low)}, {literal(distribution.high)}"
    if distribution.whole:
        return f"mosaic.search.integer({bounds}{', log=True' if distribution.log else ''})"
    return f"mosaic.search.{'loguniform' if distribution.log else 'uniform'}({bounds})"
