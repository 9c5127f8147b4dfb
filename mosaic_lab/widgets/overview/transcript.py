"""The exchanges of an evaluation or a comparison in a cell, with an excerpt in the saved notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import anywidget
import msgspec
import traitlets as t
from ipywidgets import VBox

from mosaic_lab.arenas.exchange_index import STEP_SECONDS, Selection
from mosaic_lab.arenas.transcript import Transcript
from mosaic_lab.evaluation.plan import episode_text
from mosaic_lab.number_format import milliseconds, money, number
from mosaic_lab.overview.exchange_view import NO_PICTURE, shown_call
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.comparison.saved_comparison import call_html
from mosaic_lab.widgets.overview import serve
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm, html_notes, html_table
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell
from mosaic_lab.widgets.replays.replay_area import ReplayArea

SAVED_ROWS, SAVED_CALLS = 40, 4
"""Numbers of exchanges in a saved notebook: in the table, and with prompt and answer."""
SAVED_SECONDS = 20.0
"""Time limit of the search for the saved excerpt once the cell has ended; an incomplete one says so."""
REST_SECONDS = 2.0
"""Seconds without a change of the selection before the saved form is updated."""
_COLUMNS = ("operator", "seed", "episode", "step", "answer", "action", "faults", "tokens", "latency", "cost")


class TranscriptView(anywidget.AnyWidget):
    """The table, charts and texts on the page, which reads them through this kernel."""

    _esm = page_code("transcript.js")
    _css = page_code("transcript.css")

    store = t.Unicode().tag(sync=True)
    run = t.Unicode().tag(sync=True)
    selection: t.Dict[str, Any] = t.Dict().tag(sync=True)
    found = t.Int(-1, help="the number of selected exchanges on the page, once all were searched").tag(
        sync=True
    )
    replay_request: t.Dict[str, Any] = t.Dict(
        help="the place of the exchange whose episode is replayed, and the request's number"
    ).tag(sync=True)
    said: t.List[str] = t.List(t.Unicode(), help="the level and the text of a message").tag(sync=True)


class ShownTranscript:
    """A transcript in an output of the running cell; a replay appears below it."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        serve(transcript.store)
        selection = msgspec.to_builtins(transcript.selection)
        self.view = TranscriptView(store=str(transcript.store), run=transcript.name, selection=selection)
        self.replays = ReplayArea(self._say, followed_panel)
        self.box = VBox([self.view, self.replays.box])
        widgets_stay_on_subshell(self.box)
        self.view.observe(lambda change: self._replay(change["new"]), "replay_request")
        self._seconds = STEP_SECONDS  # while the cell waits
        self._saved = SavedForm("Transcript", self._describe, lambda: None, on_removed=self.close)
        self.view.observe(lambda _: self._saved.update_after(REST_SECONDS), ["selection", "found"])
        self._saved.show(self.box, self._saved.add(), update=False)
        self._seconds = SAVED_SECONDS

    def close(self) -> None:
        """Close the widgets: the page has removed the output."""
        self.replays.close()
        close_widgets([self.box])

    def _say(self, level: str, text: str) -> None:
        self.view.said = [level, text]

    def _replay(self, request: Mapping[str, Any]) -> None:
        if (replay := self._transcript.replay) is None:
            self._say("error", "only the notebook that played these exchanges can replay them")
            return
        episode = request["operator"], request["seed"], request["episode"]
        self.replays.request(episode_text(*episode), partial(replay, *episode), request["step"])

    def _describe(self) -> Caption:
        selection = msgspec.convert(self.view.selection, Selection)
        return excerpt(replace(self._transcript, selection=selection), self._seconds)


def excerpt(transcript: Transcript, seconds: float = SAVED_SECONDS) -> Caption:
    """Return the number of exchanges found within ``seconds``, a table of the first of them, and the texts of
    a few."""
    index = transcript.index
    matches = index.find(transcript.selection, seconds)
    rows = index.rows(matches.numbers[:SAVED_ROWS])
    texts = [_texts(row, index.exchange(row["id"])[1]) for row in rows[:SAVED_CALLS]]
    notes = [f"the first {SAVED_ROWS} of them"] if len(matches.numbers) > SAVED_ROWS else []
    notes += [] if matches.complete else ["only a part of the recording was searched"]
    html = html_notes(notes) + html_table(_COLUMNS, map(_cells, rows)) + "".join(texts)
    return Caption(f"{len(matches.numbers):,} of {index.size:,} exchanges", html)


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        *(str(row[name]) for name in ("operator", "seed", "episode", "step")),
        row["answer"],
        row["action"] or "",
        ", ".join(row["faults"]),
        number(row["tokens"]),
        milliseconds(row["latency_ms"]),
        money(row["cost_usd"]),
    ]


def _texts(row: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    title = f"Prompt and answer of {row['operator']}, seed {row['seed']}, step {row['step']}"
    call = call_html(shown_call(line, lambda _: NO_PICTURE))
    return f"<details><summary>{escape(title)}</summary>{call}</details>"


def show(transcript: Transcript) -> None:
    """Show a transcript as an output of the running cell."""
    ShownTranscript(transcript)
