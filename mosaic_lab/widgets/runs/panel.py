"""A live panel: one run, or several drawn over each other.

What crosses this boundary: runs in, a widget (`Panel.box`) and its static form (`Panel.still`) out. Three
kinds of threads come in: the pump's (`tick`), those that handle the page's state updates while a cell runs
(the observers), and whoever asks for the static form. One lock orders them; nothing slow happens under it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ipywidgets import VBox

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import RunFeed, watcher
from mosaic_lab.widgets.charts.chart import Chart
from mosaic_lab.widgets.charts.static_chart import SAVED_DOTS_PER_INCH, picture
from mosaic_lab.widgets.frames.collapsible import FramesFold
from mosaic_lab.widgets.page.closing import close_all
from mosaic_lab.widgets.page.labels import group_of, shown_again
from mosaic_lab.widgets.page.panel_widgets import Controls, Footer, Header
from mosaic_lab.widgets.page.refresh import IDLE_SECONDS, pump
from mosaic_lab.widgets.page.subshell import stay_on_subshell
from mosaic_lab.widgets.page.visibility import Audience
from mosaic_lab.widgets.runs import export, summary
from mosaic_lab.widgets.runs.plot import (
    COMMON_NAMES,
    Plot,
    View,
    default_metric,
    legend_entry,
    members_of,
    names_of,
    plot,
)
from mosaic_lab.widgets.runs.run_view import Notice

LOG_LINES = 200
MOST_NOTICES = 8
CATCH_UP_SECONDS = 20.0
"""What reading the rest of all runs of a panel may take in the end."""
_CUT_SHORT = (
    f"not read to the end in {CATCH_UP_SECONDS:.0f} s: the chart stops early, run.metrics() has it all"
)
_SEVERAL_AGENTS = (
    "returns are means over the agents of an episode; comparisons and evaluations show their sum"
)

logger = logging.getLogger(__name__)


class Panel:
    """What a run or a group looks like in a notebook.

    ``metric`` is shown first (default: the return), ``interval`` starts with the mean over runs instead of
    one line a run. ``alone`` makes the panel of a single run, with a line a metric.
    """

    def __init__(
        self, runs: Sequence[Run], *, alone: bool, metric: str | None = None, interval: bool = False
    ) -> None:
        self.title, self.members = members_of(runs, alone)
        self.again = shown_again(runs, alone)
        self.audience = Audience()
        self._alone = alone
        self._lock = threading.RLock()
        self._drawn_at = -math.inf
        self._drawn: object = None
        self._said: Notice | None = None
        self._notes: list[str] = []
        self._hidden: int | None = 0  # lines that are all hidden; None while one is drawn
        self._unsubscribe: list[Callable[[], None]] = []
        self._live = False
        self._picked = metric is not None
        self.header = Header()
        self.controls = Controls(several=alone, chosen=[metric] if metric else [], interval=interval)
        self.controls.common = list(COMMON_NAMES)
        self.footer = Footer(has_log=alone)
        self.chart = Chart()
        self._frames = FramesFold(runs[0]) if alone else None
        fold = self._frames.widgets if self._frames else []
        self.box = VBox([self.header, self.controls, self.chart.figure, *fold, self.footer])
        self.box.add_class("mosaic-panel")
        stay_on_subshell([self.box, self.header, self.controls, self.footer, *self.chart.widgets])
        self._observe()

    # ------------------------------------------------------------------ its life

    def start(self) -> None:
        """Show what there is, and follow the runs until they end."""
        with self._lock:
            if not self._live:
                self._look()
                self._draw()
                if not self.finished:
                    self._live = True
                    self._follow(True)
                    pump().add(self)

    @property
    def finished(self) -> bool:
        """Whether all runs had ended when last looked at."""
        return all(member.finished for member in self.members)

    def settle(self) -> bool:
        """If all runs have ended: read and draw what is left, and follow no longer. True if so."""
        with self._lock:
            for member in self.members:
                member.look()
            if not self.finished:
                return False
        deadline = time.monotonic() + CATCH_UP_SECONDS
        for member in self.members:
            member.catch_up(max(0.0, deadline - time.monotonic()))
            member.feed.close()
        with self._lock:
            self._live = False
            pump().remove(self)
            self._follow(False)
            self._draw()
            return True

    def close(self) -> None:
        """Take the widgets back: the page shows the static form in their place, the kernel forgets them."""
        pump().remove(self)
        with self._lock:
            self._live = False
            self._follow(False)
        if self._frames:
            self._frames.close()
        close_all([self.box, *self.chart.widgets])

    def pace(self) -> float:
        """Seconds that must lie between two ticks when there is news."""
        return min(self.audience.interval(), IDLE_SECONDS)

    def tick(self) -> None:
        """Bring the panel up to date, as far as anybody looks."""
        with self._lock:
            if not self._live:
                return
            interval = self.audience.interval()
            self._follow(interval < math.inf)
            self._look()
            # A little early is fine: the pump has kept the distance.
            if not self.finished and time.monotonic() - self._drawn_at >= 0.8 * interval:
                self._draw()
            ended = self.finished
        if ended:
            pump().remove(self)
            self.on_ended()

    on_ended: Callable[[], None] = staticmethod(lambda: None)
    """Called once, on the pump's thread, when the runs have ended; who hears it has the panel `settle`."""

    def still(self) -> tuple[str, bytes | None]:
        """The static form: the table as HTML, and the picture as PNG (none without data)."""
        with self._lock:
            plotted, view = self._plot(), self._view()
        notes = [notice["text"] for notice in self._notices() if notice["level"] != "error"]
        html = summary.table(self.members, notes)
        if not (lines := plotted.shown(view)):
            return html, None
        return html, picture(lines, plotted.x_label, ", ".join(view.shown_metrics), view.log)

    # ------------------------------------------------------------ keeping up

    def _follow(self, on: bool) -> None:
        """Have the feeds read, or not: nobody needs them while every view is out of sight."""
        if on and not self._unsubscribe:
            for member in self.members:
                member.news_at = time.monotonic()
            self._unsubscribe = [watcher().subscribe(member.feed, self._news) for member in self.members]
        elif not on:
            for unsubscribe in self._unsubscribe:
                unsubscribe()
            self._unsubscribe = []

    def _news(self, feed: RunFeed) -> None:
        for member in self.members:
            if member.feed is feed:
                member.news_at = time.monotonic()
        pump().wake(self)

    def _look(self) -> None:
        for member in self.members:
            member.look()

    def _draw(self) -> None:
        """Bring every part up to date; what has not changed is not sent."""
        self._drawn_at = time.monotonic()
        self.header.summary = summary.header(self.members, self.title, self._detail(), self.again)
        self.header.beat += 1
        self._choose()
        view = self._view()
        counts = [member.feed.series[name].count if name in member.feed.series else 0
                  for member in self.members for name in view.metrics]  # fmt: skip
        states = [member.status.state for member in self.members]
        if (stamp := (view, counts, states)) != self._drawn:
            self._drawn = stamp
            self._draw_chart(view)
        self.controls.waiting = self._waiting(view)
        self.footer.notices = self._notices()
        if self._frames and self.finished:
            self._frames.hide_unused()
        if self._alone:
            self.footer.lines = self.members[0].run.log(LOG_LINES if self.footer.opened else 1).splitlines()

    def _draw_chart(self, view: View) -> None:
        plotted = self._plot()
        self._notes = plotted.notes
        self.chart.use_log(view.log)
        self.chart.draw(plotted.shown(view), plotted.x_label)
        states = {} if self._alone or view.interval else {m.run.id: m.status.state for m in self.members}
        self.controls.legend = [legend_entry(line, states.get(line.key)) for line in plotted.lines]
        self._hidden = len(plotted.lines) if not plotted.shown(view) else None

    def _waiting(self, view: View) -> str:
        """What stands in the chart's place while it has no lines, and nothing when it has some."""
        if self._hidden is None:
            return ""
        if self._hidden:
            return "Every line is hidden: a click on its name above shows it"
        doing = [text for member in self.members if (text := member.doing())]
        if doing and len(doing) == len(self.members):
            return doing[0] if len(doing) == 1 else f"{doing[0]} (the first of {len(doing)} runs)"
        what = " or ".join(view.metrics) or "metrics"
        return f"No {what} so far" if not self.finished else f"No {what} in this run"

    def _choose(self) -> None:
        names = names_of(self.members)
        self.controls.names = names
        for part in (self.controls, self.chart.figure):  # a run that failed at once has nothing to draw
            part.layout.display = "none" if self.finished and not names else None
        if not self._picked and (default := default_metric(names)) is not None:
            self.controls.chosen = [default]

    def _view(self) -> View:
        c: Any = self.controls
        return View(tuple(c.chosen), c.x, c.smoothing, c.log_axis, c.interval, frozenset(c.hidden))

    def _plot(self) -> Plot:
        return plot(self.members, self._view(), self._alone)

    def _detail(self) -> str:
        if self._alone:
            return self.members[0].run.id
        group = group_of([member.run for member in self.members])
        return (f"{group} · " if group else "") + f"{len(self.members)} runs"

    def _notices(self) -> list[Notice]:
        found = [self._said] if self._said else []
        if self.finished and not self._live and any(member.feed.behind for member in self.members):
            found.append({"level": "info", "text": _CUT_SHORT})
        if any(member.feed.agents > 1 for member in self.members):
            found.append({"level": "info", "text": _SEVERAL_AGENTS})
        for member in self.members:
            prefix = "" if self._alone else f"{member.label}: "
            found += [{**notice, "text": prefix + notice["text"]} for notice in member.notices()]
        found += [{"level": "info", "text": note} for note in self._notes]
        if len(found) > MOST_NOTICES:
            rest = len(found) - MOST_NOTICES + 1
            found = [*found[: MOST_NOTICES - 1], {"level": "info", "text": f"and {rest} more notices"}]
        return found

    # ----------------------------------------------------- what the page asks for

    def _observe(self) -> None:
        def on(part: Any, name: str, action: Callable[[Any], None]) -> None:
            part.observe(lambda change: self._handle(action, change["new"]), names=name)

        on(self.header, "presence", self._hear)
        on(self.header, "stops", self._stop)
        on(self.controls, "resets", lambda _: self.chart.reset())
        on(self.controls, "pngs", lambda _: self._aside(self._save_png))
        on(self.controls, "csvs", lambda _: self._aside(self._save_csv))
        on(self.controls, "panning", self.chart.use_panning)
        on(self.controls, "x", self._fit)
        on(self.controls, "log_axis", self._fit)
        on(self.footer, "opened", self._redraw)
        if self._frames:
            on(self._frames.head, "opened", self._frames.unfold)
        for name in ("smoothing", "interval", "hidden"):
            on(self.controls, name, self._redraw)
        self.controls.observe(self._on_chosen, names="chosen")

    def _handle(self, action: Callable[[Any], None], value: Any) -> None:
        try:
            action(value)
        except (MosaicError, OSError) as error:
            self._say("error", str(error))
        except Exception:
            logger.exception("A panel's control failed.")

    def _hear(self, presence: list[Any]) -> None:
        if self.audience.hear(presence):
            self.chart.send_again()
        pump().wake(self)

    def _stop(self, _: int) -> None:
        stopping = {
            "state": "stopping",
            "chips": [{"state": "stopping", "text": "stopping"}],
            "reason": "asked to stop",
        }
        self.header.summary = {**self.header.summary, **stopping}
        for member in self.members:
            if not member.finished:
                member.run.stop(wait=False)
        pump().wake(self)

    def _on_chosen(self, change: dict[str, Any]) -> None:
        self._picked = self._picked or change["new"] != [default_metric(self.controls.names)]
        self._handle(self._redraw, None)

    def _redraw(self, _: Any) -> None:
        with self._lock:
            self._draw()

    def _fit(self, _: Any) -> None:
        with self._lock:
            self.chart.reset()
            self._draw()

    def _aside(self, action: Callable[[View], None]) -> None:
        """Do what takes a while in a thread of its own."""
        threading.Thread(target=self._handle, args=(action, self._view()), daemon=True).start()

    def _save_png(self, view: View) -> None:
        with self._lock:
            plotted, window = self._plot(), self.chart.window
        if lines := plotted.shown(view):
            title = f"{self.title} · {', '.join(view.shown_metrics)}"
            png = picture(
                lines,
                plotted.x_label,
                title,
                view.log,
                background="white",
                sharpness=SAVED_DOTS_PER_INCH,
                window=window,
            )
            self._send(view, "png", png)

    def _save_csv(self, view: View) -> None:
        result = export.complete_csv(self.members, view.metrics)
        if isinstance(result, str):
            self._send(view, "csv", result)
        else:
            paths = "\n".join(str(path) for path in result)
            self._say("info", f"The data is too large for the browser and was written to\n{paths}")

    def _send(self, view: View, kind: str, data: str | bytes) -> None:
        name = export.file_name([self.title, *view.shown_metrics], kind)
        self.controls.download = {"name": name, "data": data}
        self.controls.download = {"name": "", "data": ""}

    def _say(self, level: str, text: str) -> None:
        with self._lock:
            self._said = {"level": level, "text": text}
            self.footer.notices = self._notices()
