"""Kinds of runs: each has a class, a panel and a request. These are import paths, resolved on first use: the
modules are built on this package, and a notebook without sweeps does not import sweeps."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import NamedTuple, TypeVar

from mosaic_lab.errors import MosaicError, UnknownRun
from mosaic_lab.runs.request import Request
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.run_record import RunRecord

AnyRun = TypeVar("AnyRun", bound=Run)


class RunKind(NamedTuple):
    """A kind of run. ``name`` appears in tables; the other fields are paths for `pkgutil.resolve_name`.

    ``panel`` is empty if runs share a panel. ``request`` is a function that returns a run's request, empty if
    no single call creates such a run. ``policies`` says which run has the policies instead, empty for a
    training. ``unit`` is what the steps of its telemetry count, ``episodes`` what its episodes produce,
    ``metric`` the metric that its panel shows first, empty for the return.
    """

    name: str
    run_class: str = "mosaic_lab.runs:Run"
    panel: str = ""
    request: str = ""
    policies: str = ""
    unit: str = "steps"
    episodes: str = "episodes"
    metric: str = ""


_TRAINING = RunKind("training", request="mosaic_lab.runs.train_request:TrainRequest.of_run")
_CURRICULUM = _TRAINING._replace(run_class="mosaic_lab.runs.curriculum:Curriculum")
_SERVER = RunKind(
    "server",
    "mosaic_lab.serving:Server",
    request="mosaic_lab.serving.request:request_of",
    unit="tokens",
    metric="tokens_per_second",
)
_BY_WORKER = {
    "evaluation": RunKind(
        "evaluation",
        "mosaic_lab.evaluation:Evaluation",
        "mosaic_lab.widgets.evaluation.evaluation_panel:EvaluationPanel",
        "mosaic_lab.evaluation.plan:request_of",
        "a training that it evaluates",
    ),
    "checkpoint-evaluation": RunKind("checkpoint evaluation", policies="the training that it evaluates"),
    "films": RunKind("films", policies="the training that it films", episodes="films"),
    "script": _TRAINING._replace(name="script"),
    "sweep": RunKind(
        "sweep",
        "mosaic_lab.sweeps:Sweep",
        "mosaic_lab.widgets.sweeps.sweep_panel:SweepPanel",
        "mosaic_lab.sweeps.plan:request_of",
        "a training of it, such as sweep.runs(sweep.best)[0]",
    ),
    "llama.cpp": _SERVER,
    "vllm": _SERVER,
}


def kind_of(run: RunRecord) -> RunKind:
    """Return the kind of a run, determined by its worker and, for a curriculum, its configuration."""
    return _CURRICULUM if "curriculum" in run.config else _BY_WORKER.get(run.worker, _TRAINING)


def as_kind(run: Run) -> Run:
    """Return the run as an instance of its kind's class: `Evaluation`, `Sweep`, `Curriculum`, `Server` or
    `Run`. A run with an unreadable configuration remains a `Run`."""
    run_class: type[Run] = resolve_name(kind_of(run).run_class) if run.config else Run
    return run if type(run) is run_class else run_class(run.folder, run.display)


def code_of(run: RunRecord) -> str:
    """Return the Python code that starts a run again; empty if no single call does or if its arguments cannot
    be written as code."""
    if not (run.config and (source := kind_of(run).request)):
        return ""
    try:
        request: Request = resolve_name(source)(run)
        return request.code()
    except (LookupError, TypeError, ValueError, AttributeError, MosaicError):  # untrusted files
        return ""


def of_class(run: Run, run_class: type[AnyRun]) -> AnyRun:
    """Return the run as an instance of this class. Raises UnknownRun if it is of another kind."""
    run = as_kind(run)
    if not isinstance(run, run_class):
        raise UnknownRun(f"run {run.id} is not of the kind {run_class.__name__}: it is {run.label}")
    return run
