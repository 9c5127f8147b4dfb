"""Kinds of runs: the class of a run, the panel that shows it, and the function that writes its code.

They are named by import paths and imported when they are first used: what is built on runs is above them, and
a notebook without sweeps does not pay for sweeps.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import NamedTuple, TypeVar

from mosaic_lab.errors import UnknownRun
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.supervisor import Supervisor

AnyRun = TypeVar("AnyRun", bound=Run)


class RunKind(NamedTuple):
    """A kind of runs; ``name`` is in the rows of tables, the others are paths of `pkgutil.resolve_name`.

    ``panel`` is empty where runs share one panel with others, ``code`` where no single call makes such a run.
    """

    name: str
    run_class: str = "mosaic_lab.runs:Run"
    panel: str = ""
    code: str = ""


_TRAINING = RunKind("training", code="mosaic_lab.runs.code_text:training_code")
_CURRICULUM = _TRAINING._replace(run_class="mosaic_lab.runs.curriculum:Curriculum")
_BY_WORKER = {
    "evaluation": RunKind(
        "evaluation",
        "mosaic_lab.evaluation:Evaluation",
        "mosaic_lab.widgets.evaluation.evaluation_panel:EvaluationPanel",
        "mosaic_lab.evaluation.code_text:evaluation_code",
    ),
    "films": RunKind("films"),
    "script": _TRAINING._replace(name="script"),
    "sweep": RunKind(
        "sweep",
        "mosaic_lab.sweeps:Sweep",
        "mosaic_lab.widgets.sweeps.sweep_panel:SweepPanel",
        "mosaic_lab.sweeps.code_text:sweep_code",
    ),
}


def kind_of(run: RunRecord) -> RunKind:
    """Return the kind of a run, by its worker and, of a curriculum, its configuration."""
    return _CURRICULUM if "curriculum" in run.config else _BY_WORKER.get(run.worker, _TRAINING)


def as_kind(run: Run) -> Run:
    """Return the run as an object of its kind's class: an `Evaluation`, `Sweep`, `Curriculum` or `Run`.

    One whose configuration cannot be read stays a `Run`.
    """
    run_class: type[Run] = resolve_name(kind_of(run).run_class) if run.config else Run
    return run if type(run) is run_class else run_class(run.folder, run.display)


def find_run(supervisor: Supervisor, run_id: str, run_class: type[AnyRun]) -> AnyRun:
    """Return a run of the store, found as `Supervisor.run` does. Raises UnknownRun, also where it is of
    another class."""
    run = as_kind(supervisor.run(run_id))
    if not isinstance(run, run_class):
        raise UnknownRun(f"run {run.id} is not of the kind {run_class.__name__}: it is {run.label}")
    return run
