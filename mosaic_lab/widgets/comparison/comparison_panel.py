"""The live panel of a comparison: its widget and the actions of its buttons.

Every button calls a method of the comparison that returns at once, on the thread that handles the page's
message rather than the main thread. A displayed panel does not keep its comparison alive.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anywidget
import traitlets as t
from ipycanvas import Canvas
from IPython.core.getipython import get_ipython
from ipywidgets import VBox, Widget, widget_serialization

from mosaic_lab.arenas import Comparison
from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.charts.chart import Chart
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.comparison.early_keys import EarlyKeys
from mosaic_lab.widgets.comparison.exchanges_model import CollapsibleExchanges, ExchangesModel
from mosaic_lab.widgets.comparison.page_state import (
    MAX_AGENTS,
    Y_LABEL,
    episodes_table,
    lane_style,
    page_state,
    person_action_text,
    return_lines,
)
from mosaic_lab.widgets.comparison.saved_comparison import SHOW_AGAIN, SavedComparison
from mosaic_lab.widgets.frames import register_target
from mosaic_lab.widgets.frames.wall import page_canvas
from mosaic_lab.widgets.page.live_panel import LivePanel, Unsubscribe
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.panel_widgets import Table
from mosaic_lab.widgets.page.saved_form import Caption
from mosaic_lab.widgets.page.visibility import FASTEST_SECONDS
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.replays.replay_area import ReplayArea

STATE_SECONDS = 1 / 15
"""Minimum interval between two state updates sent to the page while lanes make single steps or people take
turns."""
CHART_SECONDS = 1.0
"""Minimum interval between two updates of the chart while lanes play: drawing it takes the page as long as
several frames."""
BEAT_SECONDS = 0.9
CHART_HEIGHT = "220px"
MAX_PANELS = 16
"""Maximum number of live panels. Beyond it, the oldest panels of ended comparisons are replaced by their
static form."""
PAGE_SECONDS = 10.0
"""A comparison not shown by any page for this long counts as having no page."""
_LONGEST_NAME = 40  # characters of a typed action
SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 0.0)
"""Steps per second offered by the slider; 0 is as fast as possible."""

_shown_by_cell: dict[str, weakref.ref[Comparison]] = {}


class LanesView(anywidget.AnyWidget):
    """Tool bar and lanes. ``bindings``: keys changed by the user, {lane: {agent: {key: action}}}.

    The page sends requests as ``calls``: the last few, each ``[page, number, name, arguments]``, so that no
    request is lost if several are made at once. See `mosaic_lab.widgets.page.panel_widgets`.
    """

    _esm = page_code("comparison.js")
    _css = page_code("comparison.css")

    title = t.Unicode().tag(sync=True)
    state: t.Dict[str, Any] = t.Dict().tag(sync=True)
    canvases: t.List[Any] = t.List(t.Instance(Canvas)).tag(sync=True, **widget_serialization)
    language: t.List[Any] = t.List(t.Instance(ExchangesModel), help="the exchanges of each lane").tag(
        sync=True, **widget_serialization
    )
    speeds: t.List[float] = t.List(t.Float(), list(SPEEDS)).tag(sync=True)
    speed = t.Float(10.0, help="steps per second; 0: as fast as possible").tag(sync=True)
    bindings: t.Dict[str, Any] = t.Dict().tag(sync=True)
    said: t.Dict[str, Any] = t.Dict({"level": "info", "text": "", "number": 0}).tag(sync=True)
    beat = t.Int(0, help="grows at least every second while the lanes are live and visible").tag(sync=True)
    calls: t.List[Any] = t.List().tag(sync=True, echo_update=False)
    presence: t.List[Any] = t.List().tag(sync=True, echo_update=False)


class ComparisonPanel(LivePanel):
    """The live panel of ``comparison``. It remains live after the comparison has ended, so that viewers can
    still expand exchanges."""

    again = SHOW_AGAIN

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        register_target()
        self._comparison = weakref.ref(comparison)
        labels = [lane.label for lane in comparison.lanes]
        self._view = comparison.view()
        self.ended = False
        """Whether the comparison has ended or been garbage-collected."""
        self._final_form_requested = False
        self._last_call: dict[str, int] = {}
        self._early: defaultdict[tuple[int, str], EarlyKeys] = defaultdict(EarlyKeys)
        self._beat_at = self._charted_at = -math.inf
        self._charted: object = None
        self._shown_at = math.inf
        self._speed: float | None = -1.0  # not played yet
        self.title = f"Comparison · {self._view['environment']}"
        self._exchanges = [CollapsibleExchanges() for _ in labels]
        language = [exchanges.model for exchanges in self._exchanges]
        self.lanes = LanesView(
            title=self._view["environment"],
            canvases=[page_canvas() for _ in labels],
            language=language,
            state=self._page_state(),
        )
        self.episodes = Table()
        self.chart = Chart(Y_LABEL, [lane_style(index) for index in range(len(labels))])
        self.chart.figure.layout.height = CHART_HEIGHT
        self._replays = ReplayArea(self.show_message, followed_panel)
        self.box = VBox([self.lanes, *self.chart.parts, self.episodes, self._replays.box])
        self.box.add_class("mosaic-panel")
        self.box.add_class("mosaic-comparison")
        widgets_stay_on_subshell(self.box, *self.chart.widgets)
        for model in language:
            model.observe(lambda _: self.notify(), names=["opened", "agent", "drawn"])
        self.observe(self.lanes, "presence", self.on_presence)
        self.observe(self.lanes, "calls", self._do_calls)
        self.observe(self.episodes, "chosen", lambda chosen: self._replay(*chosen["id"]))
        self.saved = SavedComparison(self.title, labels, self.visibility, self.view, on_removed=self.close)
        self.on_ended = self.close

    def show(self) -> None:
        """Show the panel in the running cell with its static form, and keep both up to date."""
        self.saved.show(self.box)
        self.follow()

    def follow(self) -> None:
        """Keep the panel up to date wherever a page shows it."""
        self._shown_at = time.monotonic()
        self.start()

    def close(self) -> None:
        with _panels_lock:
            if self in _open:
                _open.remove(self)
        super().close()

    # ------------------------------------------------------------------ updates

    @property
    def finished(self) -> bool:
        """Whether the comparison has ended and the static form can replace the widgets."""
        unseen = not self.visibility.ever and time.monotonic() - self._shown_at > PAGE_SECONDS
        return self.ended and (unseen or self._comparison() is None)

    def subscribe(self) -> Iterable[Unsubscribe]:
        comparison = self._comparison()
        return [comparison.on_change(self.notify)] if comparison is not None else []

    def interval(self) -> float:
        seconds, view = super().interval(), self._view
        takes_turns = any(lane["keys"].keys() - set(lane["realtime"]) for lane in view["lanes"])
        soon = self.visibility.ever and (view["mode"] != "playing" or takes_turns)
        return seconds - FASTEST_SECONDS + STATE_SECONDS if soon else seconds

    def read_state(self) -> None:
        view = self.view()
        if not self.ended:
            self._answer_early(view)
        if not self._final_form_requested:
            self.saved.update(view, last=self.ended)
            self._final_form_requested = self.ended

    def view(self) -> Mapping[str, Any]:
        """Return the comparison's view, or the last known one if the comparison no longer exists."""
        comparison = self._comparison()
        if comparison is not None:
            self._view = comparison.view()
        self.ended = comparison is None or self._view["mode"] == "closed"
        return self._view

    def widgets_beside(self) -> Iterable[Widget]:
        return self.chart.widgets

    def static_caption(self) -> Caption:
        return self.saved.caption()

    def static_picture(self) -> bytes | None:
        return self.saved.picture()

    # ------------------------------------------------------------------ requests of the page

    def _do_calls(self, calls: list[Any]) -> None:
        """Execute new calls. The page sends its last few calls, most of which were handled before."""
        with self._lock:
            new = [call for call in calls if call[1] > self._last_call.get(call[0], 0)]
            for page, number, *_ in new:
                self._last_call[page] = number
        for _, _, name, arguments in new:
            self.attempt(partial(self._call, name), arguments)
            self.notify()

    def _call(self, name: str, arguments: Mapping[str, Any]) -> None:
        comparison = self._comparison()
        if comparison is None:
            raise MosaicError("this comparison was ended: run its cell again")
        if name == "replay":
            self._replay(None)
        elif name == "press":
            self._press(comparison, arguments["lane"], arguments["agent"], arguments["action"])
        else:
            _CALLS[name](comparison, arguments)

    def _replay(self, lane: str | None, seed: int | None = None, index: int | None = None) -> None:
        """Replay a lane's episode; None: the newest of all lanes on the current seed."""
        comparison = self._comparison()
        if comparison is None:
            raise MosaicError("this comparison was ended: run its cell again")
        name = f"seed {comparison.seed}" if lane is None else f"{lane}, seed {seed}"
        self._replays.request(name, lambda _, progress: comparison.replay(lane, seed, index, progress))

    def _press(self, comparison: Comparison, lane: int, agent: str, action: Any) -> None:
        """Use a player's key as the awaited action. If the comparison is idle, also make a step."""
        if comparison.act(lane, agent, action) or action is None:
            return
        view = comparison.view()
        lane_view = view["lanes"][lane]
        is_turn = agent in lane_view["turn"]
        starts = is_turn and view["mode"] == "idle" and lane_view["state"] == "ready"
        refusal = "" if starts or (is_turn and view["mode"] == "playing") else _why_not_now(agent, lane_view)
        name = person_action_text(action, agent, lane_view)[:_LONGEST_NAME]
        self._early[lane, agent].press(action, name, refusal)
        if starts:
            comparison.step(timeout=0)

    def _answer_early(self, view: Mapping[str, Any]) -> None:
        """Play the first early key of each agent that is to act now, and refuse keys that have waited too
        long."""
        for (lane, agent), early in list(self._early.items()):
            awaited = any(request["agent"] == agent for request in view["lanes"][lane]["requests"])
            if (key := early.next(awaited)) is not None:
                arguments = {"lane": lane, "agent": agent, "action": key.action}
                self.attempt(partial(self._call, "act"), arguments)

    def show_message(self, level: str, text: str) -> None:
        self.lanes.said = {"level": level, "text": text, "number": self.lanes.said["number"] + 1}

    # ------------------------------------------------------------------ drawing

    def _page_state(self) -> dict[str, Any]:
        early = {person: keys.text for person, keys in list(self._early.items())}
        return page_state(self._view, self.ended, early)

    def draw(self) -> None:
        view = self._view
        self.lanes.state = self._page_state()
        for exchanges, lane in zip(self._exchanges, view["lanes"], strict=True):
            exchanges.draw(lane)
        if view["mode"] == "playing" and view["speed"] != self._speed:
            self._speed = view["speed"]
            self.lanes.speed = self._speed or 0.0
        if not self.ended and time.monotonic() - self._beat_at >= BEAT_SECONDS:
            self._beat_at = time.monotonic()
            self.lanes.beat += 1
        self.episodes.table = episodes_table(view)
        self._draw_chart(view)

    def draw_again(self) -> None:
        self.chart.send_again()

    def _draw_chart(self, view: Mapping[str, Any]) -> None:
        stamp = [(lane["seed"], lane["episode"], lane["series"][-1]) for lane in view["lanes"]]
        resting = view["mode"] != "playing"
        if stamp == self._charted or (not resting and time.monotonic() - self._charted_at < CHART_SECONDS):
            return
        self._charted, self._charted_at = stamp, time.monotonic()
        self.chart.draw(return_lines(view), "steps")


def _why_not_now(agent: str, lane: Mapping[str, Any]) -> str:
    if lane["done"]:
        return "the episode has ended"
    if lane["state"] not in ("ready", "stepping"):
        return f"the lane is {lane['state']}"
    if agent not in lane["turn"]:
        return f"it is {', '.join(lane['turn'][:MAX_AGENTS])}'s turn"
    return "this step has your action"


def _speed(arguments: Mapping[str, Any]) -> float | None:
    speed = float(arguments.get("speed") or 0.0)
    return min(speed, max(SPEEDS)) if speed > 0 else None


_CALLS: dict[str, Callable[[Comparison, Mapping[str, Any]], object]] = {
    "reset": lambda comparison, request: comparison.reset(request.get("seed"), timeout=0),
    "step": lambda comparison, request: comparison.step(timeout=0),
    "step_lane": lambda comparison, request: comparison.step(lane=request["lane"], timeout=0),
    "play": lambda comparison, request: comparison.play(speed=_speed(request)),
    "pause": lambda comparison, request: comparison.pause(),
    "next_seed": lambda comparison, request: comparison.next_seed(timeout=0),
    "restart": lambda comparison, request: comparison.restart(request["lane"], timeout=0),
    "stop": lambda comparison, request: comparison.stop(timeout=0),
    "act": lambda comparison, request: comparison.act(request["lane"], request["agent"], request["action"]),
}
_panels: weakref.WeakKeyDictionary[Comparison, ComparisonPanel] = weakref.WeakKeyDictionary()
_open: list[ComparisonPanel] = []
_panels_lock = threading.Lock()


def panel_of(comparison: Comparison) -> ComparisonPanel:
    """Return the panel of a comparison; create one if there is none or its widgets were closed."""
    with _panels_lock:
        panel = _panels.get(comparison)
        if panel is None or panel.closed:
            panel = _panels[comparison] = ComparisonPanel(comparison)
            _open.append(panel)
        surplus = [panel for panel in _open if panel.ended][: max(0, len(_open) - MAX_PANELS)]
    for old in surplus:
        old.close()
    return panel


def show(comparison: Comparison) -> None:
    """Show a comparison in the running cell; reuse a widget of this kernel.

    Ends the comparison previously shown by this cell if no variable refers to it.
    """
    _end_previous(comparison)
    panel_of(comparison).show()


def _end_previous(comparison: Comparison) -> None:
    """End the comparison that this cell showed before, unless a variable still refers to it.

    IPython keeps every value that a cell has displayed. Without this, an unreferenced comparison would keep
    its processes until the kernel ends, and every execution of its cell would add one.
    """
    shell: Any = get_ipython()
    cell = shell.get_parent().get("metadata", {}).get("cellId") if hasattr(shell, "get_parent") else None
    if not cell:
        return
    previous = _shown_by_cell.get(cell, lambda: None)()
    _shown_by_cell[cell] = weakref.ref(comparison)
    if previous is None or previous is comparison:
        return
    still_named = any(value is previous for name, value in shell.user_ns.items() if not name.startswith("_"))
    if not still_named:
        with suppress(MosaicError):
            previous.stop(timeout=0)
