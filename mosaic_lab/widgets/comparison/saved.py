"""The static form of a comparison, which stays in the saved notebook: last frames, returns, episodes.

What crosses this boundary: a comparison's view in, display messages out (see ``outputs`` for how they lie in
a cell). It is drawn aside when the lanes have come to rest, and every 20 seconds while they move. Where no
browser shows the widget, as in a notebook that is executed without one, it is drawn at the end of every cell
in which something moved, before the cell counts as done.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.fastlane import FrameSource
from mosaic_lab.fastlane.last_frames import forget
from mosaic_lab.widgets.charts.static_chart import picture as chart_picture
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.comparison.lines import Y_LABEL, return_lines
from mosaic_lab.widgets.comparison.saved_exchanges import exchanges_html
from mosaic_lab.widgets.comparison.state import episode_rows
from mosaic_lab.widgets.frames.montage import Tile, sheet
from mosaic_lab.widgets.frames.stream import stream
from mosaic_lab.widgets.page.aside import aside
from mosaic_lab.widgets.page.outputs import Bundle, caption, live, picture
from mosaic_lab.widgets.page.places import Places
from mosaic_lab.widgets.page.visibility import Audience

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

MOVING_SECONDS = 20.0
"""From one picture to the next while lanes move."""
RESTING_SECONDS = 2.0
"""Without a change they rest."""
FRAMES_SECONDS = 1.5
"""To wait at the end of a cell for the frames of the steps that it made."""
UNSEEN_FPS = 5.0
MOST_COLUMNS = 4
MOST_ROWS = 40
_ENDED = ("failed", "stopped")

logger = logging.getLogger(__name__)


class LastFrame:
    """The newest frame of one lane; of one that has ended it keeps no more than that."""

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self._folder = ""
        self._source: FrameSource | None = None

    def look(self, lane: Mapping[str, Any]) -> None:
        folder = lane["folder"]
        if folder != self._folder:  # it was restarted
            self.close()
            self._folder = folder
        if not folder:
            return
        feed = stream().feed(Path(folder))
        if feed is not None:
            self.frame = feed.frame or self.frame
        if self.shows(lane):
            if lane["state"] in _ENDED:
                self.close()
            elif self._source is not None:
                self._source.rest()
            return
        if self._source is None:  # nobody looks, or the lane is scrolled away
            self._source = FrameSource(Path(folder))
        self.frame = self._source.poll(UNSEEN_FPS) or self.frame

    def shows(self, lane: Mapping[str, Any]) -> bool:
        """Whether the frame is of the lane's last step."""
        hud = self.frame.hud if self.frame else None
        return hud is not None and (hud.episode, hud.step) == (lane["episode"], lane["step"])

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None
        if self._folder:
            forget(Path(self._folder))


class SavedStrip:
    """``labels`` are the lanes'; ``audience`` knows whether a browser shows them; ``look`` gives the view;
    ``unshown`` is called when no place is left on the page."""

    def __init__(
        self,
        title: str,
        labels: Sequence[str],
        audience: Audience,
        look: Callable[[], Mapping[str, Any]],
        unshown: Callable[[], None],
    ) -> None:
        self.unshown = unshown
        self._title = title
        self._look_at_lanes = look
        self._labels = labels
        self._audience = audience
        self._last = [LastFrame() for _ in labels]
        self._places = Places(self)
        self._png: bytes | None = None
        self._table = ""
        self._view: Mapping[str, Any] = {}
        self._stamp: object = None
        self._moved_at = self._drawn_at = time.monotonic()
        self._drawn: object = None
        self._waited: object = None
        self._over = False
        """The comparison has ended, and this was drawn for the last time."""
        self._lock = threading.Lock()

    def show(self, widget: Any) -> None:
        """Show the widget here, with what there is of a static form."""
        self._notice(self._look_at_lanes())
        self._places.show(
            self._places.add(),
            live(widget, self._title),
            self._caption(),
            self._picture(),
            ended=False,
            update=False,
        )
        _at_the_end_of_cells(self)

    def tick(self, last: bool) -> None:
        """On the pump's thread: take in what is new; have it drawn aside when due, or as the last."""
        self._notice(self._look_at_lanes())
        if not self._audience.ever or math.isinf(self._audience.interval()):
            self._look()
        now = time.monotonic()
        rests = now - self._moved_at >= RESTING_SECONDS
        if last or (self._fresh() and (rests or now - self._drawn_at >= MOVING_SECONDS)):
            aside(self._finish if last else self._attempt)

    def settle(self) -> None:
        """At the end of a cell: have the last frames of what it did, also of lanes that are scrolled away.

        Where no browser shows them, draw what the cell made before returning.
        """
        if not self._over:
            self._settle()
        elif self._fresh():
            self._attempt()
        else:
            self._lock.acquire()  # it may be under way
            self._lock.release()

    def _settle(self) -> None:
        if not self._places:
            return
        self._notice(self._look_at_lanes())
        if self._view["mode"] != "playing" and self._stamp != self._waited:
            self._waited = self._stamp  # what did not come will not come at the end of the next cell either
            deadline = time.monotonic() + FRAMES_SECONDS
            while not self._look() and time.monotonic() < deadline:
                time.sleep(0.02)
        if not self._audience.ever and self._fresh():
            self._attempt()

    def _fresh(self) -> bool:
        """Whether there is something to draw that was not drawn yet."""
        return bool(self._places) and self._stamp != self._drawn

    def _finish(self) -> None:
        """Draw a last time, and let go of the frames' sources."""
        self._over = True
        if self._fresh():
            self._attempt()
        with self._lock:
            for last in self._last:
                last.close()

    def _notice(self, view: Mapping[str, Any]) -> None:
        self._view = view
        lanes = [(lane["folder"], lane["episode"], lane["step"], lane["state"]) for lane in view["lanes"]]
        stamp = view["mode"] == "closed", lanes
        if stamp != self._stamp:
            self._stamp, self._moved_at = stamp, time.monotonic()

    def _look(self) -> bool:
        """Take in the newest frames; whether every lane that has some shows its last step."""
        with self._lock:
            lanes = self._view["lanes"]
            for last, lane in zip(self._last, lanes, strict=True):
                last.look(lane)
            pairs = zip(self._last, lanes, strict=True)
            return all(
                last.shows(lane) or not lane["renders"] or lane["state"] in (*_ENDED, "stepping")
                for last, lane in pairs
            )

    def _attempt(self) -> None:
        """Draw it. A picture that cannot be drawn must not cost the user anything else."""
        self._drawn, self._drawn_at = self._stamp, time.monotonic()
        try:
            self._look()
            with self._lock:
                self._draw()
        except Exception:
            logger.exception("The lanes of a comparison could not be made into a picture.")

    def _draw(self) -> None:
        self._png = self._sheet()
        self.refresh()

    def refresh(self) -> None:
        """Display the static form once more, everywhere."""
        self._places.update(caption=self._caption(), picture=self._picture())

    def _sheet(self) -> bytes | None:
        columns = min(len(self._labels), MOST_COLUMNS)
        tiles = [Tile(label, last.frame) for label, last in zip(self._labels, self._last, strict=True)]
        parts = [sheet(tiles, columns)]
        if lines := return_lines(self._view):
            parts.append(chart_picture(lines, "steps", f"seed {self._view['seed']}", y_label=Y_LABEL))
        return stacked([part for part in parts if part])

    def _caption(self) -> Bundle:
        view = self._view
        told = (
            f"seed {view['seed']}, {view['mode']} when this notebook was saved; it ends with its kernel, "
            "and running this cell again compares again"
        )
        html = f" · {escape(told)}{episodes_table(view)}{exchanges_html(view)}"
        return caption(self._title, html, f"{self._title}: {told}")

    def _picture(self) -> Bundle:
        return picture(self._png, f"{self._title}: last frames and returns")


def episodes_table(view: Mapping[str, Any]) -> str:
    """The finished episodes as a small table of HTML; nothing without any."""
    rows = episode_rows(view)[:MOST_ROWS]
    if not rows:
        return ""
    names = ("lane", "operator", "seed", "return", "length", "end", "faults")
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(row[name])}</td>" for name in names) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_strips: list[Any] = []


def _at_the_end_of_cells(strip: SavedStrip) -> None:
    """Have a strip settled at the end of every cell, as long as there is one."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return
    if not _strips:
        shell.events.register("post_run_cell", _settle_all)
    if not any(kept() is strip for kept in _strips):
        _strips.append(weakref.ref(strip))


def _settle_all(_: object = None) -> None:
    for kept in list(_strips):
        strip = kept()
        if strip is None:
            _strips.remove(kept)
        else:
            strip.settle()
