"""The read-only methods of a run store for pages: a table of methods with their parameters and functions.

Actions on runs are in the kernel: `mosaic_lab.widgets.overview`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from mosaic_lab.arenas.transcript import Transcript, comparison_transcript
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.keeper.files import check_inside, folder_in
from mosaic_lab.keeper.run_store import COMPARISONS, RunStore
from mosaic_lab.overview.chart_export import MAX_CHARTS, ExportedChart, export_charts
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curve_model import ChartRequest, CurveRequest, Name
from mosaic_lab.overview.curves import curves, metric_names
from mosaic_lab.overview.difference import Row, Section, difference
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.overview.results import READ_SECONDS, last_values
from mosaic_lab.overview.run_points import step_positions
from mosaic_lab.overview.transcripts import ExchangeParams, FileParams, MeansParams, PageParams, Transcripts
from mosaic_lab.overview.workers import worker_rows
from mosaic_lab.runs import Run
from mosaic_lab.runs.films import film_content
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import code_of, of_class
from mosaic_lab.sanitize import sanitize

Answer = tuple[dict[str, Any], list[bytes]]
"""An answer as JSON, and the binary parts that it describes."""
MAX_RUNS = 10_000
"""Maximum number of runs in one request."""
MAX_FIRST_ROWS = 1_000
"""Maximum number of unread runs in a page's first answer, which has the newest. The second answer has all."""
MAX_LINES = 100_000
MAX_NAMES = 100_000
"""Maximum number of a notebook's variable names."""
MAX_DETAILED_RUNS = 200
"""Maximum number of runs in one request for details, which take about ten kilobytes per run."""
MAX_FILMS = 100
"""Maximum number of a run's films in a strip, which shows the newest."""
_MAX_CACHED_RUNS = 20_000
_MODELS_SECONDS = 5.0
P = TypeVar("P", bound=Struct)
RunId = Annotated[str, Meta(min_length=1, max_length=255)]
Runs = Annotated[list[RunId], Meta(min_length=1, max_length=MAX_RUNS)]


class Params(Struct, forbid_unknown_fields=True):
    """The parameters of a method."""


class ChangesParams(Params):
    version: Annotated[int, Meta(ge=0)] = 0


class RunsParams(Params):
    runs: Runs


class CurvesParams(CurveRequest, frozen=True, kw_only=True):
    runs: Runs


class ChartParams(ChartRequest, frozen=True, kw_only=True):
    runs: Runs


class ExportParams(Params):
    charts: Annotated[list[ChartParams], Meta(max_length=MAX_CHARTS)]
    format: Name


class LogParams(Params):
    run: RunId
    lines: Annotated[int, Meta(ge=1, le=MAX_LINES)] = 200


class DifferenceParams(Params):
    runs: tuple[RunId, RunId]


class DetailsParams(Params):
    runs: Annotated[list[RunId], Meta(min_length=1, max_length=MAX_DETAILED_RUNS)]


class RunParams(Params):
    run: RunId


class FilmParams(RunParams):
    step: int


class FormsParams(Params):
    kind: Name
    worker: Name | None = None
    algorithm: Name | None = None


class ModelsParams(Params):
    provider: Name


class CodeParams(Params):
    kind: Name
    values: dict[str, Any]
    lab: Name = "lab"
    taken: Annotated[frozenset[Name], Meta(max_length=MAX_NAMES)] = frozenset()


class Service:
    """Answers requests for the run store below ``root``, from any number of threads at once.

    Without a root, only methods that need no store work. A store that does not exist yet has no runs.
    """

    def __init__(self, root: Path | str | None) -> None:
        self._store = None if root is None else RunStore(root)
        self._index_lock = threading.Lock()
        # So that versions differ from those of earlier services.
        self._version_offset = int(time.time() * 1000)
        self._newest = 0
        self._runs: dict[str, Run] = {}
        self.transcripts = Transcripts(self._transcript)
        self._columns = ColumnPool()
        self._index = None if root is None else RunIndex(root, self._columns)

    def answer(self, method: str, params: object) -> Answer:
        """Return the answer of a method. Raises MosaicError, with a message for the user, if it fails."""
        query = METHODS.get(method)
        if query is None:
            raise ConfigurationError(
                f"{method!r:.100} is not a query of a run store. Actions on runs need a "
                "kernel: run mosaic_lab.Lab() in a notebook"
            )
        return query.answer(self, converted_params(method, params, query.params))

    def changes(self, params: ChangesParams) -> Answer:
        """Return the rows that changed since a version, and the ids of removed runs.

        If the version is not from this service, the answer is ``whole``: it has every row. Of a large store,
        a page's first answer has the newest rows only; the next one is whole.
        """
        if self._index is None:
            raise ConfigurationError("changes need a run store: the request names none")
        index_version = params.version - self._version_offset
        with self._index_lock:
            is_known = 0 < index_version <= self._newest
            self._newest, rows, removed = self._index.changes(
                index_version if is_known else 0, None if params.version else MAX_FIRST_ROWS
            )
            is_complete = self._index.is_complete
            version = self._version_offset + (self._newest if is_complete else 0)
        changed = [msgspec.to_builtins(row) for row in rows]
        is_whole = is_complete and not is_known
        return {"version": version, "whole": is_whole, "rows": changed, "removed": removed}, []

    def curves(self, params: CurvesParams) -> Answer:
        return curves(self.runs(params.runs), params, self._columns).answer()

    def metrics(self, params: RunsParams) -> Answer:
        return {"names": metric_names(self.runs(params.runs), self._columns)}, []

    def export(self, params: ExportParams) -> Answer:
        charts = [ExportedChart(self.runs(chart.runs), chart) for chart in params.charts]
        file = export_charts(charts, params.format, self._columns)
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
        """Return the films of a run, at most the newest `MAX_FILMS`, with their first frames as PNG
        files."""
        run = self.run(params.run)
        films = run.films
        readable, frames = [], []
        for entry in films[-MAX_FILMS:]:
            with suppress(MosaicError):  # unreadable, or removed meanwhile
                frames.append(entry.first_frame)
                readable.append(entry)
        columns = next((first for _, first in self._columns.columns([run], Reading())), None)
        positions = step_positions(columns, [entry.step for entry in readable])
        return {
            "films": [
                {**entry.facts, "places": position}
                for entry, position in zip(readable, positions, strict=True)
            ],
            "missing": {str(k): v for k, v in films.missing.items()},
            "status": films.status,
            "being_made": films.being_made,
        }, frames

    def film(self, params: FilmParams) -> Answer:
        mime_type, data = film_content(self.run(params.run).folder, params.step)
        return {"type": mime_type}, [data]

    def _transcript(self, name: str) -> Transcript:
        """Return the transcript of the evaluation or comparison with this id."""
        comparison = None if self._store is None else folder_in(self._store.root / COMPARISONS, name)
        if comparison is not None:
            return comparison_transcript(comparison)
        return of_class(self.run(name), Evaluation).transcript()

    def runs(self, ids: list[str]) -> list[Run]:
        """Return the existing runs among ``ids``. Raises UnknownRun if none exists.

        A chart of several runs still draws the others if one was removed.
        """
        existing, missing = [], None
        for run_id in dict.fromkeys(ids):
            try:
                existing.append(self.run(run_id))
            except UnknownRun as error:
                missing = error
        if missing is not None and not existing:
            raise missing
        return existing

    def run(self, run_id: str) -> Run:
        """Return a run by its full id. Raises UnknownRun."""
        if self._store is None:
            raise ConfigurationError(f"run {run_id} belongs to a run store: the request names none")
        folder = self._store.exact(run_id)
        if folder is None:  # the page may show a run that was removed since
            self._runs.pop(run_id, None)
            raise UnknownRun(f"run {run_id!r:.300} is not in {self._store.root} (any more)")
        if len(self._runs) > _MAX_CACHED_RUNS:
            self._runs.clear()
        return self._runs.setdefault(run_id, Run(folder))  # kept: its configuration is read once


class Method(NamedTuple):
    """A method: its parameters and the function that answers it."""

    params: type[Struct]
    answer: Callable[[Service, Any], Answer]


METHODS = {
    "changes": Method(ChangesParams, Service.changes),
    "metrics": Method(RunsParams, Service.metrics),
    "curves": Method(CurvesParams, Service.curves),
    "export": Method(ExportParams, Service.export),
    "details": Method(DetailsParams, Service.details),
    "difference": Method(DifferenceParams, Service.difference),
    "log": Method(LogParams, Service.log),
    "transcript": Method(PageParams, lambda service, params: service.transcripts.page(params)),
    "exchange_means": Method(MeansParams, lambda service, params: service.transcripts.means(params)),
    "exchange": Method(ExchangeParams, lambda service, params: service.transcripts.exchange(params)),
    "exchange_file": Method(FileParams, lambda service, params: service.transcripts.file(params)),
    "films": Method(RunParams, Service.films),
    "film": Method(FilmParams, Service.film),
    "workers": Method(Params, lambda service, params: ({"rows": worker_rows()}, [])),
    "forms": Method(FormsParams, lambda service, params: (_form(params), [])),
    "models": Method(ModelsParams, lambda service, params: (_models(params), [])),
    "code": Method(CodeParams, lambda service, params: (_code(params), [])),
}
"""The methods for pages, by their names in `js/src/shared/run-api.ts`."""


def converted_params(method: str, params: object, into: type[P]) -> P:
    """Return the parameters of a method. Raises ConfigurationError if they are not valid."""
    try:
        return msgspec.convert(params, into)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the request {method!r:.100} is not valid: {error}") from error


def _code(params: CodeParams) -> dict[str, Any]:
    from mosaic_lab.overview import forms  # imports the planning of comparisons, half of a reader's start

    return {"code": forms.code(params.kind, params.values, params.lab, params.taken)}


def _models(params: ModelsParams) -> dict[str, Any]:
    from mosaic_lab.operators.providers import providers
    from mosaic_lab.operators.served_models import models

    if params.provider not in providers():  # a page must not name an address either
        raise ConfigurationError(f"there is no provider {params.provider!r}")
    return {"names": models(params.provider, timeout=_MODELS_SECONDS)}


def _form(params: FormsParams) -> dict[str, Any]:
    from mosaic_lab.overview import forms

    if params.kind != "training":
        return forms.match_form(params.kind)
    if params.worker is None:
        raise ConfigurationError("the form of a training needs a worker: the request names none")
    return forms.training_form(params.worker, params.algorithm)


def details(run: Run, pool: ColumnPool) -> dict[str, Any]:
    """Return ``RunDetails`` of ``js/src/shared/run-api.ts``. ``pool`` reads the metrics."""
    columns_by_run = pool.columns([run], Reading(), READ_SECONDS)
    return {
        "results": next((last_values(columns) for _, columns in columns_by_run), {}),
        "code": code_of(run),
    }
