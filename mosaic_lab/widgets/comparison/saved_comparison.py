"""The static form of a comparison in a saved notebook: last frames, returns and episodes.

It is drawn in the background when the lanes come to rest, and every 20 seconds while they move. If no browser
shows the widget, as in a notebook executed without one, it is drawn at the end of every cell that moved a
lane, before the cell completes.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from weakref import WeakSet

from mosaic_lab.fastlane.montage import MontageTile, montage
from mosaic_lab.fastlane.source import forget
from mosaic_lab.overview.exchange_view import (
    NO_PICTURE,
    shown_exchanges,
    speaking_agents,
    total_facts,
    without_middle,
)
from mosaic_lab.widgets.charts.static_chart import chart_picture, stacked
from mosaic_lab.widgets.comparison.page_state import Y_LABEL, episodes_table, return_lines
from mosaic_lab.widgets.frames.saved_frames import LastFrame
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm, html_table, table_html
from mosaic_lab.widgets.page.visibility import Visibility

SHOW_AGAIN = "running this cell again compares again"
MOVING_SECONDS = 20.0
"""Interval between pictures while lanes move."""
RESTING_SECONDS = 2.0
"""Lanes that have not changed for this long are at rest."""
FRAMES_SECONDS = 1.5
"""Seconds that the end of a cell waits for the frames of its steps."""
MAX_COLUMNS = 4
MAX_ROWS = 40
MAX_LENGTH = 4000
"""Maximum number of characters of a prompt, and of an answer."""
MAX_COLLAPSED_RECORDS = 16
_PRE = '<pre style="white-space:pre-wrap;max-height:24em;overflow:auto;margin:2px 0 6px">'
UNSEEN_FPS = 5.0
"""Frames per second requested while no page shows the lane's last step."""
ENDED = ("failed", "stopped")
"""Lane states after which no frame arrives."""


class SavedComparison:
    """Decides when to draw the static form of a comparison, and draws it.

    ``labels`` are the lanes' labels. ``visibility`` tracks the browser's views. ``newest_view`` returns
    `Comparison.view`. ``on_removed`` is called when no output shows the comparison any more.
    """

    def __init__(
        self,
        title: str,
        labels: Sequence[str],
        visibility: Visibility,
        newest_view: Callable[[], Mapping[str, Any]],
        on_removed: Callable[[], None],
    ) -> None:
        self._form = SavedForm(
            title,
            self.caption,
            self.picture,
            pictured=f"{title}: last frames and returns",
            on_removed=on_removed,
        )
        self._newest_view = newest_view
        self._labels = labels
        self._visibility = visibility
        self._frames = [LastFrame(Path()) for _ in labels]
        self._frames_lock = threading.Lock()
        self._view: Mapping[str, Any] = {}
        self._stamp: object = None
        """The state of the lanes; when it changes, a new picture is due."""
        self._drawn_stamp: object = None
        self._awaited_stamp: object = None
        """The last state whose frames were awaited at the end of a cell."""
        self._moved_at = self._drawn_at = time.monotonic()
        self._finished = False
        """Whether the comparison has ended and was drawn for the last time."""

    def show(self, widget: Any) -> None:
        """Show the widget in the running cell with the current static form."""
        self._update_view(self._newest_view())
        self._form.show(widget, self._form.add(), update=False)
        _settle_after_cells(self)

    def update(self, view: Mapping[str, Any], *, last: bool) -> None:
        """Process a view, and draw it in the background if that is due or it is the ``last``."""
        self._update_view(view)
        if not self._visibility.ever or math.isinf(self._visibility.interval()):
            self._read_frames()
        now = time.monotonic()
        rests = now - self._moved_at >= RESTING_SECONDS
        if last or (self._has_news() and (rests or now - self._drawn_at >= MOVING_SECONDS)):
            in_background(self._finish if last else self._draw)

    def settle(self) -> None:
        """Take the last frames of a cell's steps, including those of lanes scrolled out of view.

        If no browser shows the lanes, draw them before returning.
        """
        if self._finished:
            if self._has_news():
                self._draw()
            else:
                self._form.wait()
            return
        if not self._form.outputs:
            return
        self._update_view(self._newest_view())
        if self._view["mode"] != "playing" and self._stamp != self._awaited_stamp:
            # Missing frames will not arrive at the end of the next cell either.
            self._awaited_stamp = self._stamp
            deadline = time.monotonic() + FRAMES_SECONDS
            while not self._read_frames() and time.monotonic() < deadline:
                time.sleep(0.02)
        if not self._visibility.ever and self._has_news():
            self._draw()

    def _finish(self) -> None:
        """Draw a last time, and release the frame sources."""
        self._finished = True
        if self._has_news():
            self._draw()
        with self._frames_lock:
            for last in self._frames:
                release(last)

    def _has_news(self) -> bool:
        return bool(self._form.outputs) and self._stamp != self._drawn_stamp

    def _draw(self) -> None:
        self._drawn_stamp, self._drawn_at = self._stamp, time.monotonic()
        self._form.update()

    def _update_view(self, view: Mapping[str, Any]) -> None:
        self._view = view
        lanes = [(lane["folder"], lane["episode"], lane["step"], lane["state"]) for lane in view["lanes"]]
        stamp = view["mode"] == "closed", lanes
        if stamp != self._stamp:
            self._stamp, self._moved_at = stamp, time.monotonic()

    def _read_frames(self) -> bool:
        """Read the newest frames; return whether every lane with frames shows its last step."""
        with self._frames_lock:
            lanes = self._view["lanes"]
            self._frames = [follow(last, lane) for last, lane in zip(self._frames, lanes, strict=True)]
            return all(is_complete(last, lane) for last, lane in zip(self._frames, lanes, strict=True))

    def caption(self) -> Caption:
        """Return the seed, the state, the finished episodes and the last exchanges."""
        view = self._view
        text = f"seed {view['seed']}, {view['mode']} when this notebook was saved; it ends with its kernel, "
        text += f"and {SHOW_AGAIN}"
        table = episodes_table(view)
        rows = table["rows"][:MAX_ROWS]
        return Caption(text, (table_html(table, rows) if rows else "") + exchanges_html(view))

    def picture(self) -> bytes | None:
        """Return the last frames and the returns as PNG."""
        self._read_frames()
        columns = min(len(self._labels), MAX_COLUMNS)
        tiles = [
            MontageTile(label, last.frame) for label, last in zip(self._labels, self._frames, strict=True)
        ]
        pictures = [montage(tiles, columns)]
        if lines := return_lines(self._view):
            pictures.append(chart_picture(lines, "steps", f"seed {self._view['seed']}", y_label=Y_LABEL))
        return stacked([picture for picture in pictures if picture])


_shown: WeakSet[SavedComparison] = WeakSet()


def _settle_after_cells(saved: SavedComparison) -> None:
    """Settle the form at the end of every cell for as long as it exists."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return
    shell.events.register("post_run_cell", _settle_all)  # no effect if already registered
    _shown.add(saved)


def _settle_all(_: object = None) -> None:
    for saved in list(_shown):
        saved.settle()


def exchanges_html(view: Mapping[str, Any]) -> str:
    """Return the costs of the lanes' language models as a table, and each agent's last step, collapsed."""
    lanes = [lane for lane in view["lanes"] if lane["spending"] is not None]
    if not lanes:
        return ""
    collapsed = [_collapsed(lane, agent) for lane in lanes for agent in speaking_agents(lane["moves"])]
    return _totals_table(lanes) + "".join(collapsed[:MAX_COLLAPSED_RECORDS])


def _totals_table(lanes: list[Mapping[str, Any]]) -> str:
    facts = {lane["label"]: total_facts(lane["spending"]) for lane in lanes}
    names = [name for _, name, _ in next(iter(facts.values()))]
    rows = ([label, *(value for value, *_ in row)] for label, row in facts.items())
    return html_table(("language models", *names), rows)


def _collapsed(lane: Mapping[str, Any], agent: str) -> str:
    exchanges = shown_exchanges(lane, agent, lambda _: NO_PICTURE)
    speaker = lane["label"] if len(lane["agents"]) < 2 else f"{lane['label']}, {agent}"
    title = f"Prompt and answer of {speaker} at step {exchanges['step'] or lane['step']}"
    message_lines = [
        f"{sender} → {to}: {text}" for sender, to, text in exchanges["messages"] if agent in (sender, to)
    ]
    messages = f"<div>{'<br>'.join(map(escape, message_lines))}</div>" if message_lines else ""
    calls = "".join(map(call_html, exchanges["calls"]))
    return f"<details><summary>{escape(title)}</summary>{calls}{messages}</details>"


def call_html(call: Mapping[str, Any]) -> str:
    """Return one exchange as escaped HTML, with bounded texts."""
    facts = " · ".join([value for value, _ in call["facts"]] + [words for words, _ in call["faults"]])
    length = MAX_LENGTH // max(1, len(call["turns"]))
    turns = "".join(
        f"<b>{escape(turn['role'])}</b>"
        + "".join(f" [{escape(image['text'])}]" for image in turn["images"])
        + f"{_PRE}{escape(without_middle(turn['text'], length))}</pre>"
        for turn in call["turns"]
    )
    before, marked, after = (escape(without_middle(part, MAX_LENGTH // 3)) for part in call["answer"])
    parts = {"reasoning": escape(without_middle(call["reasoning"], MAX_LENGTH))} if call["reasoning"] else {}
    parts["answer"] = before + (f"<b>{marked}</b>" if marked else "") + after
    answer_html = "".join(f"<b>{name}</b>{_PRE}{part}</pre>" for name, part in parts.items())
    note = f"<i>{escape(call['note'])}</i><br>" if call["note"] else ""
    return f"<div>{escape(facts)}</div>{note}{turns}{answer_html}"


def follow(last: LastFrame, lane: Mapping[str, Any]) -> LastFrame:
    """Update the newest frame of a lane of `Comparison.view`; return a new object if the lane was restarted.

    After the lane has ended, only the frame is kept, and no ring is open.
    """
    if (folder := Path(lane["folder"])) != last.folder:
        release(last)
        last = LastFrame(folder)
    if not lane["folder"]:
        return last
    last.read_newest()
    if not shows_last_step(last, lane):
        last.poll(UNSEEN_FPS)
    elif lane["state"] in ENDED:
        release(last)
    else:
        last.pause()
    return last


def shows_last_step(last: LastFrame, lane: Mapping[str, Any]) -> bool:
    """Return whether the frame shows the lane's last step."""
    hud = last.frame.hud if last.frame else None
    return hud is not None and (hud.episode, hud.step) == (lane["episode"], lane["step"])


def is_complete(last: LastFrame, lane: Mapping[str, Any]) -> bool:
    """Return whether no newer frame is expected before the lane's next step."""
    return shows_last_step(last, lane) or not lane["renders"] or lane["state"] in (*ENDED, "stepping")


def release(last: LastFrame) -> None:
    """Release the ring, and the frame kept elsewhere in this process."""
    last.close()
    forget(last.folder)
