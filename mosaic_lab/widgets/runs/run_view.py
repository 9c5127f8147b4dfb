"""A run as a panel shows it: its handle, telemetry, name, colour and numbers, read from its files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.overview.curve_model import Curve, CurveRequest, Floats
from mosaic_lab.overview.results import mean_speed
from mosaic_lab.overview.run_points import read_interval, read_points
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoint_path import first_step
from mosaic_lab.runs.run_record import training_phase, with_duration
from mosaic_lab.telemetry import RunFeed, watcher

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

Notice = dict[str, str]


def info_notice(text: str) -> Notice:
    return {"level": "info", "text": text}


def warning_notice(text: str) -> Notice:
    return {"level": "warning", "text": text}


@dataclass(eq=False)
class RunView:
    """A run in a panel. Only ``look`` reads from the disk."""

    run: Run
    label: str
    color: str
    feed: RunFeed = field(init=False)
    status: RunStatus = field(init=False)
    reason: str = field(init=False)
    news_at: float = field(init=False)
    """Monotonic time of the last sign of life."""

    def __post_init__(self) -> None:
        self.feed = watcher().feed(self.run.path)
        self.status = self.run.status
        self.reason = self.run.explained(self.status)
        self.news_at = time.monotonic()

    @property
    def finished(self) -> bool:
        return self.status.state.finished

    @property
    def resumed(self) -> bool:
        """Whether the run was started again after this view saw its end."""
        begun = self.run.status.history[:1]  # empty if the run was removed
        return self.finished and begun not in ((), self.status.history[:1])

    def look(self) -> None:
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
        begun = next((step for step in self.status.history if step.state is State.STARTING), None)
        elapsed = self.elapsed()
        if begun is None or elapsed is None:
            return None
        return begun.timestamp, begun.timestamp + elapsed

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
        silence = time.monotonic() - self.news_at
        if self.status.state is State.RUNNING and silence > SILENCE_SECONDS:
            seconds = f"{silence // 10 * 10:.0f} s"
            notices.append(warning_notice(f"no sign of life for {seconds} (heartbeats come every 5 s)"))
        if self.feed.missing and not self.finished:
            notices.append(warning_notice(f"{self.run.path / 'telemetry.jsonl'} was deleted"))
        for name, count in self.feed.health.counts().items():
            if count and name in _HEALTH_TEXT:
                notices.append(warning_notice(f"{count:,} {_HEALTH_TEXT[name]}"))
        return notices
