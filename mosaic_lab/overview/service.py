"""Answers what a page requests of a run store: a table of methods, with what each takes and what answers it.

All of it only reads. What acts on runs is in a kernel: `mosaic_lab.widgets.overview`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.keeper.files import check_inside, folder_in
from mosaic_lab.keeper.run_store import RunFolder, RunStore
from mosaic_lab.overview import forms
from mosaic_lab.overview.chart_export import MOST_CHARTS, ExportedChart, export
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curves import CurveRequest, curves, metric_names
from mosaic_lab.overview.difference import Row, Section, difference
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.overview.results import READ_SECONDS, last_values
from mosaic_lab.overview.run_points import step_places
from mosaic_lab.overview.workers import worker_rows
from mosaic_lab.runs import Run
from mosaic_lab.runs.films import film
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.sanitize import sanitize

Answer = tuple[dict[str, Any], list[bytes]]
"""An answer as JSON, and the binary parts that it describes."""
MOST_RUNS = 10_000
"""Named in one request."""
MOST_LINES = 100_000
MOST_NAMES = 100_000
"""Of a notebook's variables."""
MOST_DETAILED = 200
"""Runs of one request for details, each of which is some ten kilobytes."""
MOST_FILMS = 100
"""Of a run, in a strip: the newest."""
_KEPT_RUNS = 20_000
P = TypeVar("P", bound=Struct)
RunId = Annotated[str, Meta(min_length=1, max_length=255)]
Runs = Annotated[list[RunId], Meta(min_length=1, max_length=MOST_RUNS)]
Name = Annotated[str, Meta(max_length=300)]


class Params(Struct, forbid_unknown_fields=True):
    """The parameters of a method."""


class ChangesParams(Params):
    version: Annotated[int, Meta(ge=0)] = 0


class RunsParams(Params):
    runs: Runs


class CurvesParams(RunsParams):
    metric: Name
    x: Name = "step"
    start: float | None = None
    end: float | None = None
    points: int = 600
    smoothing: float = 0.0
    outliers: bool = False
    group_by: Annotated[tuple[Name, ...], Meta(max_length=20)] | None = None

    def request(self) -> CurveRequest:
        """Return what the chart shows. Raises ConfigurationError where that cannot be drawn."""
        return CurveRequest(**{name: getattr(self, name) for name in CurveRequest.__annotations__})


class ChartParams(CurvesParams):
    log_x: bool = False
    log_y: bool = False
    low: float | None = None
    high: float | None = None
    colors: dict[Name, Name] = {}


class ExportParams(Params):
    charts: Annotated[list[ChartParams], Meta(max_length=MOST_CHARTS)]
    format: Name


class LogParams(Params):
    run: RunId
    lines: Annotated[int, Meta(ge=1, le=MOST_LINES)] = 200


class DifferenceParams(Params):
    runs: tuple[RunId, RunId]


class DetailsParams(Params):
    runs: Annotated[list[RunId], Meta(min_length=1, max_length=MOST_DETAILED)]


class RunParams(Params):
    run: RunId


class FilmParams(RunParams):
    step: int


class FormsParams(Params):
    kind: Name
    worker: Name | None = None
    algorithm: Name | None = None


class CodeParams(Params):
    kind: Name
    values: dict[str, Any]
    lab: Name = "lab"
    taken: Annotated[frozenset[Name], Meta(max_length=MOST_NAMES)] = frozenset()


class Service:
    """Answers for the run store below ``root``, on any number of threads at once.

    Without a root it answers what needs no store. The store need not exist yet: it has no runs then.
    """

    def __init__(self, root: Path | str | None) -> None:
        self._store = None if root is None else RunStore(root)
        self._index_lock = threading.Lock()
        self._before = int(time.time() * 1000)  # so that no version is one of a former service's
        self._newest = 0
        self._runs: dict[str, Run] = {}
        self._columns = ColumnPool()
        self._index = None if root is None else RunIndex(root, self._columns)

    def answer(self, method: str, params: object) -> Answer:
        """Return the answer of a method. Raises MosaicError, with a sentence for the user, without one."""
        known = METHODS.get(method)
        if known is None:
            raise ConfigurationError(
                f"{method!r:.100} is not something that is read from a run store. What acts on runs needs a "
                "kernel: run mosaic_lab.Lab() in a notebook"
            )
        return known.answer(self, converted(method, params, known.params))

    def changes(self, params: ChangesParams) -> Answer:
        """Return the rows that changed since a version, and the ids of runs that are gone.

        Where the version is not one of this service's, the answer is ``whole``: every row that there is.
        """
        if self._index is None:
            raise ConfigurationError("changes need a run store: the request names none")
        since = params.version - self._before
        with self._index_lock:
            whole = not 0 < since <= self._newest
            self._newest, rows, removed = self._index.changes(0 if whole else since)
            version = self._before + self._newest
        changed = [msgspec.to_builtins(row) for row in rows]
        return {"version": version, "whole": whole, "rows": changed, "removed": removed}, []

    def curves(self, params: CurvesParams) -> Answer:
        return curves(self.runs(params.runs), params.request(), self._columns).answer()

    def metrics(self, params: RunsParams) -> Answer:
        return {"names": metric_names(self.runs(params.runs), self._columns)}, []

    def export(self, params: ExportParams) -> Answer:
        charts = [
            ExportedChart(
                self.runs(one.runs), one.request(), one.log_x, one.log_y, one.low, one.high, dict(one.colors)
            )
            for one in params.charts
        ]
        file = export(charts, params.format, self._columns)
        return {"name": file.name, "type": file.type}, [file.content]

    def details(self, params: DetailsParams) -> Answer:
        def unreadable(reason: str) -> dict[str, Any]:
            return {"results": {}, "code": f"# {reason}"}

        runs = self.runs(params.runs)
        return {
            "runs": {
                sanitize(run.id): isolated(partial(details, run, self._columns), unreadable) for run in runs
            }
        }, []

    def difference(self, params: DifferenceParams) -> Answer:
        first, second = map(self.run, params.runs)
        sections = isolated(
            partial(difference, first, second, self._columns),
            lambda reason: [Section("Unreadable", [Row(reason, ("", ""), same=False)])],
        )
        return {"sections": [asdict(section) for section in sections]}, []

    def log(self, params: LogParams) -> Answer:
        run = self.run(params.run)
        check_inside(run.folder.log_path)
        return {"text": run.log(params.lines)}, []

    def films(self, params: RunParams) -> Answer:
        """Return the films of a run, the newest at most, with their first frames as PNG files."""
        run = self.run(params.run)
        films = run.films
        shown, frames = [], []
        for one in films[-MOST_FILMS:]:
            with suppress(MosaicError):  # one that cannot be read, or was removed
                frames.append(one.first_frame)
                shown.append(one)
        columns = next((one for _, one in self._columns.columns([run], Reading())), None)
        places = step_places(columns, [one.step for one in shown])
        return {
            "films": [{**one.facts, "places": place} for one, place in zip(shown, places, strict=True)],
            "missing": {str(k): v for k, v in films.missing.items()},
            "status": films.status,
            "being_made": films.being_made,
        }, frames

    def film(self, params: FilmParams) -> Answer:
        kind, data = film(self.run(params.run).folder, params.step)
        return {"type": kind}, [data]

    def runs(self, ids: list[str]) -> list[Run]:
        """Return those of the runs that are there. Raises UnknownRun where none is.

        A chart of many still draws the others when one of them has been removed.
        """
        found, missing = [], None
        for run_id in dict.fromkeys(ids):
            try:
                found.append(self.run(run_id))
            except UnknownRun as error:
                missing = error
        if missing is not None and not found:
            raise missing
        return found

    def run(self, run_id: str) -> Run:
        """Return a run by its whole id. Raises UnknownRun."""
        if self._store is None:
            raise ConfigurationError(f"run {run_id} is one of a run store: the request names none")
        # A row of the page may be of a run that was removed since; ids are no paths, nor links to elsewhere.
        path = folder_in(self._store.root, run_id)
        if path is None and "\\" in run_id:  # of a name that is not UTF-8, rows have it escaped
            folders = self._store.folders()
            path = next((folder.path for folder in folders if sanitize(folder.run_id) == run_id), None)
        if path is None:
            self._runs.pop(run_id, None)
            raise UnknownRun(f"run {run_id!r:.300} is not in {self._store.root} (any more)")
        if len(self._runs) > _KEPT_RUNS:
            self._runs.clear()
        return self._runs.setdefault(run_id, Run(RunFolder(path)))  # kept: it reads its configuration once


class Method(NamedTuple):
    """A method: its parameters and the function that answers it."""

    params: type[Params]
    answer: Callable[[Service, Any], Answer]


METHODS = {
    "changes": Method(ChangesParams, Service.changes),
    "metrics": Method(RunsParams, Service.metrics),
    "curves": Method(CurvesParams, Service.curves),
    "export": Method(ExportParams, Service.export),
    "details": Method(DetailsParams, Service.details),
    "difference": Method(DifferenceParams, Service.difference),
    "log": Method(LogParams, Service.log),
    "films": Method(RunParams, Service.films),
    "film": Method(FilmParams, Service.film),
    "workers": Method(Params, lambda service, params: ({"rows": worker_rows()}, [])),
    "forms": Method(FormsParams, lambda service, params: (_form(params), [])),
    "code": Method(CodeParams, lambda service, params: (_code(params), [])),
}
"""The methods that a page can call, by the names that `js/src/shared/run-api.ts` has for it."""


def converted(method: str, params: object, into: type[P]) -> P:
    """Return the parameters of a method. Raises ConfigurationError where they are not valid."""
    try:
        return msgspec.convert(params, into)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the request {method!r:.100} is not valid: {error}") from error


def _code(params: CodeParams) -> dict[str, Any]:
    return {"code": forms.code(params.kind, params.values, params.lab, params.taken)}


def _form(params: FormsParams) -> dict[str, Any]:
    if params.kind != "training":
        return forms.match_form(params.kind)
    if params.worker is None:
        raise ConfigurationError("the form of a training needs a worker: the request names none")
    return forms.training_form(params.worker, params.algorithm)


def details(run: Run, pool: ColumnPool) -> dict[str, Any]:
    """Return ``RunDetails`` of ``js/src/shared/run-api.ts``. ``pool`` is where the metrics are read."""
    found = pool.columns([run], Reading(), READ_SECONDS)
    writer = kind_of(run).code  # none for a run that no single call has made
    return {
        "results": next((last_values(columns) for _, columns in found), {}),
        "code": str(resolve_name(writer)(run)) if writer and run.config else "",
    }
