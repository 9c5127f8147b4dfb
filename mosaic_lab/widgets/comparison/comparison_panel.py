"""The live panel of a comparison: the widget, what its buttons do, and when it is brought up to date.

Every button calls a method of the comparison that returns at once, on the thread that handles the page's
message, which is not the main one. Being shown does not keep a comparison alive.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ipywidgets import VBox

from mosaic_lab.arenas import Comparison
from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.charts.chart import Chart
from mosaic_lab.widgets.comparison.collapsible_exchanges import CollapsibleExchanges
from mosaic_lab.widgets.comparison.comparison_widgets import SPEEDS, EpisodesView, LanesView
from mosaic_lab.widgets.comparison.page_state import episode_rows, page_state
from mosaic_lab.widgets.comparison.return_chart import Y_LABEL, lane_stroke, return_lines
from mosaic_lab.widgets.comparison.saved_comparison import SavedComparison
from mosaic_lab.widgets.frames import register_target
from mosaic_lab.widgets.page.canvas import page_canvas
from mosaic_lab.widgets.page.kernel_comms import stay_on_subshell
from mosaic_lab.widgets.page.refresh import refresh_scheduler
from mosaic_lab.widgets.page.visibility import FASTEST_SECONDS, Visibility
from mosaic_lab.widgets.page.widget_cleanup import close_widgets

STATE_SECONDS = 1 / 15
"""Between two states that the page is sent, at least."""
CHART_SECONDS, BEAT_SECONDS = 0.2, 0.9
CHART_HEIGHT = "220px"
MOST_PANELS = 16
"""Kept alive; beyond it those of ended comparisons, oldest first, give way to their static form."""
PAGE_SECONDS = 10.0
"""In which a page shows what it is sent, or there is none."""
EARLY_SECONDS = 1.0
"""For which a key counts that was pressed before its person's turn."""

logger = logging.getLogger(__name__)


class ComparisonPanel:
    """The live panel of ``comparison``."""

    def __init__(self, comparison: Comparison) -> None:
        register_target()
        self._comparison = weakref.ref(comparison)
        self._lanes = comparison.lanes
        self._view = comparison.view()
        self.gone = False
        """The comparison has ended."""
        self._over = False
        """Its end was drawn."""
        self._visibility = Visibility()
        self._lock = threading.Lock()
        self._handled: dict[str, int] = {}
        self._early: dict[tuple[int, str], tuple[float, Any]] = {}
        self._beat_at = self._charted_at = -math.inf
        self._charted: object = None
        self._shown_at = math.inf
        self._speed: float | None = -1.0  # not played yet
        canvases = [page_canvas() for _ in self._lanes]
        self.title = f"Comparison · {self._view['environment']}"
        self._language = [CollapsibleExchanges() for _ in self._lanes]
        language = [fold.model for fold in self._language]
        self.lanes = LanesView(
            title=self._view["environment"], canvases=canvases, language=language, state=self._page_state()
        )
        self.episodes = EpisodesView()
        self.chart = Chart(Y_LABEL, [lane_stroke(index) for index in range(len(self._lanes))])
        self.chart.figure.layout.height = CHART_HEIGHT
        self.box = VBox([self.lanes, self.chart.figure, self.episodes])
        self.box.add_class("mosaic-panel")
        self.box.add_class("mosaic-comparison")
        stay_on_subshell([self.box, self.lanes, self.episodes, *canvases, *language, *self.chart.widgets])
        for model in language:
            model.observe(lambda _: refresh_scheduler().notify(self), names=["opened", "agent", "drawn"])
        self.lanes.observe(lambda change: self._on_presence(change["new"]), names="presence")
        self.lanes.observe(lambda change: self._take(change["new"]), names="calls")
        labels = [lane.label for lane in self._lanes]
        self.saved = SavedComparison(self.title, labels, self._visibility, self._now, on_removed=self.close)
        comparison.on_change(self._changed)
        self._draw()

    def show(self) -> None:
        """Show it here, with its static form, and keep both up to date."""
        self._shown_at = time.monotonic()
        self.saved.show(self.box)
        refresh_scheduler().add(self)

    def close(self) -> None:
        """Take the widgets back: the page shows the static form in their place."""
        refresh_scheduler().remove(self)
        with _panels_lock:
            if self in _open:
                _open.remove(self)
        close_widgets([self.box, *self.chart.widgets])

    # ------------------------------------------------------------------ what the page requests

    def _on_presence(self, presence: list[Any]) -> None:
        if self._visibility.update(presence):
            self.chart.send_again()
        refresh_scheduler().notify(self)

    def _take(self, calls: list[Any]) -> None:
        """Do the calls that are new. The page sends its last few, most of which were handled before."""
        with self._lock:
            news = [call for call in calls if call[1] > self._handled.get(call[0], 0)]
            for page, number, *_ in news:
                self._handled[page] = number
        for _, _, name, arguments in news:
            self._call(name, arguments)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> None:
        comparison = self._comparison()
        try:
            if comparison is None:
                raise MosaicError("this comparison was ended: run its cell again")
            if name == "press":
                self._press(comparison, arguments["lane"], arguments["agent"], arguments["action"])
            else:
                _CALLS[name](comparison, arguments)
        except MosaicError as error:
            self._say("error", str(error))
        except Exception as error:
            logger.exception("A button of a comparison failed.")
            self._say("error", f"{type(error).__name__}: {error}")
        refresh_scheduler().notify(self)

    def _press(self, comparison: Comparison, lane: int, agent: str, action: Any) -> None:
        """Take a person's key as the awaited action; while nothing is under way it also makes a step."""
        if comparison.act(lane, agent, action) or action is None:
            return
        view = comparison.view()
        shown = view["lanes"][lane]
        if agent not in shown["turn"]:
            return
        starts = view["mode"] == "idle" and shown["state"] == "ready"
        if starts or view["mode"] == "playing":
            self._early[lane, agent] = time.monotonic(), action
        if starts:
            comparison.step(timeout=0)

    def _answer_early(self, comparison: Comparison, view: Mapping[str, Any]) -> None:
        for (lane, agent), (pressed_at, action) in list(self._early.items()):
            awaited = any(request["agent"] == agent for request in view["lanes"][lane]["asks"])
            if awaited or time.monotonic() - pressed_at > EARLY_SECONDS:
                self._early.pop((lane, agent), None)
            if awaited:
                self._call("act", {"lane": lane, "agent": agent, "action": action})

    def _say(self, level: str, text: str) -> None:
        self.lanes.said = {"level": level, "text": text, "number": self.lanes.said["number"] + 1}

    # ------------------------------------------------------------------ keeping up

    def _changed(self) -> None:
        """In the comparison's thread."""
        refresh_scheduler().notify(self)

    def refresh(self, *, draw: bool) -> None:
        """Bring the page up to date while a view is in sight, and in any case when the comparison ends."""
        self._now()
        if not self._over:
            if self.gone or self._early or self.interval() < math.inf or not self._visibility.ever:
                self._draw()
            self.saved.tick(last=self.gone)
            self._over = self.gone
        else:
            self._draw_language()  # what is unfolded afterwards
        if self._over and self._useless():
            self.close()

    def _useless(self) -> bool:
        """Whether no viewer needs the widgets of an ended comparison: its static form shows it all."""
        unseen = not self._visibility.ever and time.monotonic() - self._shown_at > PAGE_SECONDS
        return unseen or self._comparison() is None

    def interval(self) -> float:
        slowed = self._visibility.interval() - FASTEST_SECONDS
        return slowed + STATE_SECONDS if self._visibility.ever else slowed + FASTEST_SECONDS

    def _now(self) -> Mapping[str, Any]:
        """The last view there was of it."""
        comparison = self._comparison()
        if comparison is not None:
            self._view = comparison.view()
        self.gone = comparison is None or self._view["mode"] == "closed"
        return self._view

    def _page_state(self) -> dict[str, Any]:
        return page_state(self._view, self._lanes, self.gone)

    def _draw(self) -> None:
        """Bring every part up to date; what has not changed is not sent."""
        view = self._view
        comparison = self._comparison()
        if self._early and comparison is not None:
            self._answer_early(comparison, view)
        self.lanes.state = self._page_state()
        self._draw_language()
        if view["mode"] == "playing" and view["speed"] != self._speed:
            self._speed = view["speed"]
            self.lanes.speed = self._speed or 0.0
        if time.monotonic() - self._beat_at >= BEAT_SECONDS:
            self._beat_at = time.monotonic()
            self.lanes.beat += 1
        rows = episode_rows(view)
        if rows != self.episodes.rows:
            self.episodes.rows, self.episodes.total = rows, view["ended"]
        self._draw_chart(view)

    def _draw_language(self) -> None:
        for fold, lane in zip(self._language, self._view["lanes"], strict=True):
            fold.draw(lane)

    def _draw_chart(self, view: Mapping[str, Any]) -> None:
        stamp = [(lane["seed"], lane["episode"], lane["series"][-1]) for lane in view["lanes"]]
        resting = view["mode"] != "playing"
        if stamp == self._charted or (not resting and time.monotonic() - self._charted_at < CHART_SECONDS):
            return
        self._charted, self._charted_at = stamp, time.monotonic()
        self.chart.draw(return_lines(view), "steps")


def _speed(arguments: Mapping[str, Any]) -> float | None:
    speed = float(arguments.get("speed") or 0.0)
    return min(speed, max(SPEEDS)) if speed > 0 else None


_CALLS: dict[str, Callable[[Comparison, Mapping[str, Any]], object]] = {
    "reset": lambda comparison, given: comparison.reset(given.get("seed"), timeout=0),
    "step": lambda comparison, given: comparison.step(timeout=0),
    "step_lane": lambda comparison, given: comparison.step(lane=given["lane"], timeout=0),
    "play": lambda comparison, given: comparison.play(speed=_speed(given)),
    "pause": lambda comparison, given: comparison.pause(),
    "next_seed": lambda comparison, given: comparison.next_seed(timeout=0),
    "restart": lambda comparison, given: comparison.restart(given["lane"], timeout=0),
    "stop": lambda comparison, given: comparison.stop(timeout=0),
    "act": lambda comparison, given: comparison.act(given["lane"], given["agent"], given["action"]),
}

_panels: weakref.WeakKeyDictionary[Comparison, ComparisonPanel] = weakref.WeakKeyDictionary()
_open: list[ComparisonPanel] = []
_panels_lock = threading.Lock()


def panel_of(comparison: Comparison) -> ComparisonPanel:
    """Return the panel of a comparison, a new one where there is none or its widgets were closed."""
    with _panels_lock:
        panel = _panels.get(comparison)
        if panel is None or panel.lanes.comm is None:
            panel = _panels[comparison] = ComparisonPanel(comparison)
            _open.append(panel)
        given_up = [one for one in _open if one.gone][: max(0, len(_open) - MOST_PANELS)]
    for old in given_up:
        old.close()
    return panel
