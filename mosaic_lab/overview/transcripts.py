"""The exchanges of evaluations and comparisons for pages: a part at a time, however many there are."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from mosaic_lab.arenas.exchange_index import EVERYTHING, Selection
from mosaic_lab.arenas.transcript import FORMATS, Transcript
from mosaic_lab.errors import MosaicError
from mosaic_lab.overview.curve_model import CurveLine, Curves
from mosaic_lab.overview.exchange_view import shown_call, thumbnail

Answer = tuple[dict[str, Any], list[bytes]]
MAX_ROWS = 200
"""Maximum number of exchanges in an answer."""
MAX_CACHED = 8
"""Maximum number of transcripts in memory."""
MAX_FILE = 64 << 20
"""Maximum total size in bytes of the exchanges in a file that a page saves."""


class SelectedParams(Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the exchanges of a run, or of a comparison."""

    run: Annotated[str, Meta(min_length=1, max_length=255)]
    selection: Selection = EVERYTHING


class PageParams(SelectedParams, kw_only=True):
    first: Annotated[int, Meta(ge=0)] = 0
    rows: Annotated[int, Meta(ge=0, le=MAX_ROWS)] = 0


class MeansParams(SelectedParams, kw_only=True):
    amount: Literal["tokens", "latency_ms", "cost_usd"]


class FileParams(SelectedParams, kw_only=True):
    format: Literal["jsonl", "csv", "json"]


class ExchangeParams(SelectedParams, kw_only=True):
    id: Annotated[str, Meta(max_length=400)]


class Transcripts:
    """The transcripts of a run store, made by ``make`` from the name of a run or comparison. The most
    recently used are cached with their index."""

    def __init__(self, make: Callable[[str], Transcript]) -> None:
        self._make = make
        self._cached: dict[str, Transcript] = {}
        self._lock = threading.Lock()

    def page(self, params: PageParams) -> Answer:
        """Return some of the selected exchanges as rows, and the fractions of the recording that have been
        indexed and searched: if less than 1, the next request continues."""
        transcript = self._transcript(params)
        index = transcript.index
        alive = transcript.alive()  # before reading: what is written until the end is then read
        matches = index.find(params.selection)
        return {
            "rows": index.rows(matches.numbers[params.first : params.first + params.rows]),
            "first": params.first,
            "found": len(matches.numbers),
            "total": index.size,
            "indexed": matches.indexed,
            "searched": matches.searched,
            "damaged": index.damaged,
            "alive": alive,
            **index.facets(),
        }, []

    def means(self, params: MeansParams) -> Answer:
        """Return the operators' means of an amount at each step, of the exchanges found so far."""
        index = self._transcript(params).index
        means = index.means(index.find(params.selection, 0.0).numbers, params.amount)
        lines = [CurveLine(name, (name,), name, steps, values) for name, (steps, values) in means.items()]
        return Curves("step", lines).answer()

    def exchange(self, params: ExchangeParams) -> Answer:
        """Return an exchange with its prompt and answer."""
        index = self._transcript(params).index
        place, line = index.exchange(params.id)
        return {"place": place, "call": shown_call(line, partial(thumbnail, index.folder / "images"))}, []

    def file(self, params: FileParams) -> Answer:
        """Return the selected exchanges as a file. Raises MosaicError if they are too large for a page."""
        transcript = replace(self._transcript(params), selection=params.selection)
        if (size := transcript.bytes) > MAX_FILE:
            raise MosaicError(
                f"the selected exchanges take {size >> 20:,} MiB, too much for a page: select fewer, or "
                f'save them in a notebook, ev.transcript().save("{transcript.file_name}.{params.format}")'
            )
        output = io.StringIO()
        transcript.write(params.format, output)
        name = f"{transcript.file_name}.{params.format}"
        return {"name": name, "type": FORMATS[params.format]}, [output.getvalue().encode()]

    def _transcript(self, params: SelectedParams) -> Transcript:
        with self._lock:
            transcript = self._cached.pop(params.run, None)
            if transcript is None or not transcript.index.folder.is_dir():
                transcript = self._make(params.run)
            self._cached[params.run] = transcript
            if len(self._cached) > MAX_CACHED:
                del self._cached[next(iter(self._cached))]
        return transcript
