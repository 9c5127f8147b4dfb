"""What a panel shows of its runs: each run's state and numbers, and the lines of the charts.

A `RunView` is one run, read from its files. `chart_content` returns the lines of several, ready to draw; its
cost depends on the number of lines, not on the length of the runs.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mosaic_lab.chart_style import MarkPosition, color, mean_positions, outline
from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.number_format import number
from mosaic_lab.overview.curve_model import Curve, CurveRequest, Floats
from mosaic_lab.overview.curves import GRID_POINTS, ended_early, mean_over_runs, smooth
from mosaic_lab.overview.results import mean_speed
from mosaic_lab.overview.run_points import read_interval, read_points, stage_positions, step_positions
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoint_path import first_step
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.run_labels import (
    distinct_labels,
    distinct_names,
    run_settings,
    shared_and_own,
    title_and_labels,
    without_seed,
)
from mosaic_lab.runs.run_names import resumed_title
from mosaic_lab.runs.run_record import training_phase, with_duration
from mosaic_lab.telemetry import RunFeed, feed_of
from mosaic_lab.telemetry.metrics import charted
from mosaic_lab.widgets.charts.chart import Line

MEMORY = f"{SYSTEM_PREFIX}memory_mb"
"""The memory of a run's processes together, as its keeper measures it."""

SILENCE_SECONDS = 30.0
"""Six missed heartbeats."""

AXES = {"step": "step", "episode": "episode", "time": "relative"}
"""The x axes of panels, as `CurveRequest` names them."""
_HEALTH_TEXT = {
    "malformed": "telemetry lines were not JSON messages and were skipped",
    "oversize": "telemetry lines were longer than the limit and were skipped",
    "invalid_utf8": "telemetry lines were not UTF-8 and were skipped",
    "unknown": "telemetry lines are of a kind that this version does not know",
    "dropped_values": "metric values were left out (not numbers, or too many names)",
    "replaced": "times the telemetry file was replaced or cut short, and was read again",
    "dropped_by_worker": "lines could not be written by the worker (is a disk full?)",
    "missed_by_keeper": "measurements of the system could not be taken or written",
}
MAX_LINES = 24
"""Maximum number of lines of a chart."""
MAX_RAW_LINES = 4
"""Maximum number of smoothed lines drawn with their raw data behind them."""
MAX_POINTS = 1000
"""Approximate maximum number of points of a line."""
ALL_POINTS = 6000
"""Approximate number of points of all lines together: enough for the eye, with updates that stay small."""

logger = logging.getLogger(__name__)
Notice = dict[str, str]


def info_notice(text: str) -> Notice:
    return {"level": "info", "text": text}


def warning_notice(text: str) -> Notice:
    return {"level": "warning", "text": text}


@dataclass(eq=False)
class RunView:
    """A run in a panel. Only ``read_state`` reads from the disk."""

    run: Run
    label: str
    color: str
    feed: RunFeed = field(init=False)
    status: RunStatus = field(init=False)
    reason: str = field(init=False)
    news_at: float = field(init=False)
    """Monotonic time of the last sign of life."""
    _changes: int = field(init=False, default=-1)
    _side_files_second: int = field(init=False, default=-1)
    _failed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.feed = feed_of(self.run.path)
        self.status = self.run.status
        self.reason = self.run.explained(self.status)
        self.news_at = time.monotonic()

    @property
    def finished(self) -> bool:
        return self.status.state.finished

    @property
    def resumed(self) -> bool:
        """Whether the run was started again after this view saw its end."""
        first_state = self.run.status.history[:1]  # empty if the run was removed
        return self.finished and first_state not in ((), self.status.history[:1])

    def read_state(self) -> None:
        """Read the run's status unless it is final: after its end a run can only be removed here, and a
        `resumed` run needs another view."""
        if not self.finished or (self.status.state is not State.REMOVED and self.run.folder.removed):
            self.status = self.run.status
            self.reason = self.run.explained(self.status)

    @property
    def step(self) -> int:
        """The last reported step or, before the first report, that of the checkpoint that the run
        continues."""
        return max(self.feed.step, self.run.resumed_step or 0)

    def doing(self) -> str:
        """Return the run's activity before its first data, and for how long; empty afterwards."""
        if self.status.state is State.QUEUED:
            return self.reason
        if self.run.total_timesteps is None or self.feed.behind:
            return ""  # unknown until everything has been read
        learns = any(not name.startswith(SYSTEM_PREFIX) for name in self.feed.names)
        phase = training_phase(self.status.state, self.feed.step, learns=learns)
        return with_duration(phase, self.run.session_seconds(self.status))

    def poll(self) -> bool:
        """Read a bounded amount of new telemetry, and once a second that of the files beside the worker's;
        return whether the run has changed since the last call. A failure is logged once while it persists."""
        second = int(time.monotonic())
        side_files = self.feed.behind or second != self._side_files_second
        self._side_files_second = second
        try:
            self.feed.poll(side_files=side_files)
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("Cannot read the telemetry in %s; trying again.", self.feed.folder)
            return False
        self._failed = False
        changed, self._changes = self.feed.changes != self._changes, self.feed.changes
        if changed:
            self.news_at = time.monotonic()
        return changed

    def catch_up(self, seconds: float = 20.0) -> None:
        """Read all remaining telemetry, or as much as ``seconds`` allow."""
        deadline, ended = time.monotonic() + seconds, not self.run.alive
        while (self.feed.poll(ended) or self.feed.behind) and time.monotonic() < deadline:
            pass

    def curve(self, metric: str, x: str, points: int, *, averaged: bool = False) -> Curve:
        """Return about ``points`` points of a metric, or as many means over its points. ``x`` is "step",
        "episode" (episodes ended so far) or "time" (seconds since the run started)."""
        request = CurveRequest(metric, AXES[x])
        return read_points(self.feed, request, points, averaged).curve

    def interval(self, metric: str, x: str, curve: Curve) -> tuple[Floats, Floats] | None:
        """Return the bounds of the points of a `curve`; None for a metric without bounds."""
        return read_interval(self.feed, CurveRequest(metric, AXES[x]), curve)

    def progress(self) -> float | None:
        """Return the progress between 0 and 1; ``None`` if the total is unknown."""
        if self.status.state is State.COMPLETED:
            return 1.0
        if self.status.state in (State.QUEUED, State.STARTING):
            return 0.0
        total = self.run.total_timesteps
        return min(1.0, self.step / total) if total else None

    def elapsed(self) -> float | None:
        """Return the worker's run time in seconds; see `Run.elapsed`."""
        return self.run.seconds(self.status) or self.feed.seconds or None

    def span(self) -> tuple[float, float] | None:
        """Return when the worker started, and when it ended or else the current time, in Unix seconds."""
        start = next((step for step in self.status.history if step.state is State.STARTING), None)
        elapsed = self.elapsed()
        if start is None or elapsed is None:
            return None
        return start.timestamp, start.timestamp + elapsed

    def seconds_left(self) -> float | None:
        """Return the estimated remaining seconds; ``None`` while unknown."""
        total = self.run.total_timesteps
        return self.feed.seconds_left(total) if total and self.status.state is State.RUNNING else None

    def trained(self) -> int:
        """Return the steps that this run itself has trained, without those before the checkpoint that it
        continues."""
        return self.step - first_step(self.run, self.feed.progress.first)

    def speed(self) -> float | None:
        """Return the steps per second over the last seconds or, after the end, over the whole run; ``None``
        while unknown."""
        if not self.finished:
            return self.feed.progress.steps_per_second
        return mean_speed(self.trained(), self.elapsed())

    def memory_mb(self) -> float | None:
        """Return the peak memory if it is known, otherwise the latest measurement."""
        outcome = self.status.outcome
        if outcome is not None:
            return outcome.peak_memory_mb
        if self.feed.count(MEMORY):
            return float(self.feed.pieces(MEMORY)[-1].value[-1])
        return self.feed.memory_mb  # of the last heartbeat

    def notices(self) -> list[Notice]:
        """Return notices for the user about this run, most severe first."""
        notices: list[Notice] = []
        if self.status.state in (State.FAILED, State.LOST):
            notices.append({"level": "error", "text": self.reason})
        silent_seconds = time.monotonic() - self.news_at
        if self.status.state is State.RUNNING and silent_seconds > SILENCE_SECONDS:
            seconds = f"{silent_seconds // 10 * 10:.0f} s"
            notices.append(warning_notice(f"no sign of life for {seconds} (heartbeats come every 5 s)"))
        if self.feed.missing and not self.finished:
            notices.append(warning_notice(f"{self.run.path / 'telemetry.jsonl'} was deleted"))
        for name, count in self.feed.health.counts().items():
            if count and name in _HEALTH_TEXT:
                notices.append(warning_notice(f"{count:,} {_HEALTH_TEXT[name]}"))
        return notices


@dataclass(frozen=True)
class ChartSettings:
    """The settings of a chart."""

    metrics: tuple[str, ...]
    x: str = "step"
    smoothing: float = 0.0
    log: bool = False
    interval: bool = False
    hidden: frozenset[str] = frozenset()

    @property
    def shown_metrics(self) -> list[str]:
        """The metrics drawn as lines."""
        return [name for name in self.metrics if name not in self.hidden]

    @property
    def kind(self) -> str:
        """The kind of the values: "smoothed" with the weight, or empty for raw values."""
        return f"smoothed {self.smoothing:.2f}" if self.smoothing else ""


@dataclass(frozen=True)
class ChartContent:
    """Every line (including hidden ones, for the legend), the x axis label, and notes on omissions.
    ``separate``: each line has its own chart."""

    lines: list[Line]
    x_label: str
    notes: list[str]
    separate: bool

    def charts(self, settings: ChartSettings) -> list[tuple[str, list[Line]]]:
        """Return each chart's metric with its visible lines; charts without any are omitted."""
        visible = [line for line in self.lines if line.key not in settings.hidden]
        if self.separate:
            return [(line.label, [line]) for line in visible]
        return [(settings.metrics[0], visible)] if visible else []


class _Entry(NamedTuple):
    """The parts of one line of the chart."""

    key: str
    label: str
    color: str
    view: RunView
    metric: str


def run_views(runs: Sequence[Run], alone: bool) -> tuple[str, list[RunView]]:
    """Return the panel's title and views of the runs with distinct names."""
    title = resumed_title(runs[0]) if alone else title_and_labels(runs)[0]
    return title, [
        RunView(as_kind(run), name, color(i))
        for i, (run, name) in enumerate(zip(runs, distinct_names(runs), strict=True))
    ]


def panel_metrics(views: Sequence[RunView]) -> list[str]:
    """Return the metrics of all runs for charts, in the usual order."""
    return charted(name for view in views for name in view.feed.names)


def chart_content(views: Sequence[RunView], settings: ChartSettings, alone: bool) -> ChartContent:
    """Return a line per metric of one run, or per run of several, or their mean with its interval."""
    scale, x_label = x_unit(views, settings.x)
    if alone:
        entries = [_Entry(name, name, color(i), views[0], name) for i, name in enumerate(settings.metrics)]
    else:
        metric = settings.metrics[0] if settings.metrics else ""
        entries = [_Entry(view.run.id, view.label, view.color, view, metric) for view in views]
    entries = [entry for entry in entries if entry.view.feed.count(entry.metric)]
    notes: list[str] = []
    if settings.interval and not alone:
        lines, notes = _means(entries, settings, scale)
    else:
        if len(entries) > MAX_LINES:
            notes.append(f"{MAX_LINES} of {len(entries)} runs are drawn; Mean includes all of them")
            entries = entries[:MAX_LINES]
        visible_count = sum(entry.key not in settings.hidden for entry in entries)
        points = min(MAX_POINTS, ALL_POINTS // max(1, visible_count * (2 if settings.smoothing else 1)))
        lines = [
            _line(entry, settings, scale, points, faint=visible_count <= MAX_RAW_LINES) for entry in entries
        ]
        lines = [line for line in lines if len(line.curve[0])]
    if settings.log:
        below = sum(int(np.sum(line.curve[1] <= 0)) for line in lines if line.key not in settings.hidden)
        if below:
            notes.append("the logarithmic axis omits values ≤ 0")
    return ChartContent(lines, x_label, notes, alone)


def legend_entry(line: Line, state: str | None) -> dict[str, str]:
    values = line.curve[1]
    finite = values[values == values]
    last = number(float(finite[-1]) if len(finite) else None)
    shown_state = "" if state in (None, "running", "completed") else str(state)
    return {"key": line.key, "label": line.label, "color": line.color, "value": last, "state": shown_state}


def _line(entry: _Entry, settings: ChartSettings, scale: float, points: int, faint: bool) -> Line:
    x, y = entry.view.curve(entry.metric, settings.x, points)
    marks = _stage_positions(entry, settings.x, scale)
    line = Line(entry.key, entry.label, entry.color, (x / scale, y), marks=marks)
    if not settings.smoothing:
        interval = entry.view.interval(entry.metric, settings.x, (x, y))
        return line if interval is None else replace(line, band=outline(x / scale, *interval))
    smoothed = _smoothed(entry, settings, scale, points)
    return replace(line, curve=smoothed, thin=(line.curve,) if faint else ())


def _stage_positions(entry: _Entry, axis: str, scale: float) -> tuple[MarkPosition, ...]:
    """Return the x positions of a curriculum's stages; empty for other runs."""
    positions = stage_positions(entry.view.run, entry.view.feed, AXES[axis])
    return tuple(MarkPosition(position.x / scale, position.label) for position in positions)


def _smoothed(entry: _Entry, settings: ChartSettings, scale: float, points: int) -> Curve:
    """Return the smoothed line, computed from averages because the points of a decimated curve are its
    extremes."""
    x, y = entry.view.curve(entry.metric, settings.x, points, averaged=True)
    return x / scale, smooth(y, settings.smoothing)


def _means(entries: Sequence[_Entry], settings: ChartSettings, scale: float) -> tuple[list[Line], list[str]]:
    """Return a line with its interval for each configuration, and notes on them."""
    by_configuration: dict[str, list[_Entry]] = {}
    for entry in entries:
        run = entry.view.run
        key = json.dumps([run.worker, run_settings(run)], sort_keys=True, default=str)
        by_configuration.setdefault(key, []).append(entry)
    drawn_configurations = list(by_configuration.items())[:MAX_LINES]
    labels = _configuration_labels([[entry.view for entry in members] for _, members in drawn_configurations])
    lines: list[Line] = []
    notes: list[str] = []
    for index, ((key, members), label) in enumerate(zip(drawn_configurations, labels, strict=True)):
        # As coarse as the grid, because an interval over episodes would show their noise, not the runs'.
        curves = [_smoothed(entry, settings, scale, GRID_POINTS) for entry in members]
        notes += ended_early(
            curves, [entry.view.run for entry in members], [entry.view.label for entry in members]
        )
        marks = mean_positions([_stage_positions(entry, settings.x, scale) for entry in members])
        if line := _mean(key, label, color(index), curves, marks):
            first = members[0].view
            alone = f"{label} seed {first.run.seed}".strip() if first.run.seed is not None else first.label
            lines.append(line if len(members) > 1 else replace(line, label=alone))
    return lines, notes


def _mean(
    key: str, label: str, color: str, curves: Sequence[Curve], marks: tuple[MarkPosition, ...]
) -> Line | None:
    """Return the mean over runs with its interval, or with few runs the mean and each run; None if the runs
    share no part of the x axis."""
    from mosaic_lab.evaluation.statistics.curves import MIN_RUNS

    mean = mean_over_runs(curves)
    if mean is None:
        return None
    line = Line(key, label, color, (mean.steps, mean.value), marks=marks)
    if mean.runs == 1:
        return line
    line = replace(line, label=f"{label} · mean of {mean.runs}" if label else f"mean of {mean.runs}")
    if mean.runs < MIN_RUNS:
        return replace(line, thin=tuple(curves))
    return replace(line, label=f"{line.label}, 95% CI", band=outline(mean.steps, mean.low, mean.high))


def _configuration_labels(configurations: Sequence[Sequence[RunView]]) -> list[str]:
    """Return labels that distinguish configurations; empty for a single one, which the panel's title
    names."""
    names = [without_seed(shared_and_own([view.run.label for view in views])[0]) for views in configurations]
    return distinct_labels(shared_and_own(names)[1], [views[0].run for views in configurations])


def x_unit(views: Sequence[RunView], x: str) -> tuple[float, str]:
    """Return the divisor of the x axis and its label."""
    if x != "time":
        return 1.0, {"step": "steps", "episode": "episodes"}[x]
    longest = max((view.feed.seconds for view in views), default=0.0)
    unit, name = (1.0, "s") if longest < 600 else (60.0, "min") if longest < 36_000 else (3600.0, "h")
    return unit, f"wall time ({name})"


def film_positions(view: RunView, steps: Sequence[int], axis: str) -> list[float | None]:
    """Return the x positions of films at these steps on a run's chart; None if the curve has no points."""
    unit, _ = x_unit([view], axis)
    xs = [position[AXES[axis]] for position in step_positions(view.feed, steps)]
    return [None if x is None else x / unit for x in xs]
