"""The facts of a run that its panel's header shows: progress, speed, episodes, returns and memory.

All are structs, so that the cache of columns can store them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.metrics import RETURN_NAMES, ReturnMeans
from mosaic_lab.telemetry.stream import Message, Number

Floats = NDArray[np.float64]
Values = dict[str, Number]
JITTER_SECONDS = 1.0
"""Threads of a worker write slightly out of order. A larger step back means that a clock was set."""
WINDOW_SECONDS = 12.0
"""Age at which advances leave the window, as long as ``MIN_ADVANCES`` remain."""
MIN_ADVANCES = 8
SPACING_SECONDS = 0.25
"""Advances closer together than this are merged, which bounds the window's memory at any rate of lines."""
MIN_SECONDS = 2.0
"""Minimum time span of the advances for an estimate."""


class RunClock(Struct):
    """Converts timestamps to seconds since the run's start.

    If a clock is set back, time continues from the last moment. A missing timestamp repeats that moment.
    """

    seconds: float = 0.0
    """The latest time seen."""
    zero: float | None = None
    """The timestamp of zero seconds; None before the first timestamp."""

    def since_start(self, timestamps: Floats) -> Floats:
        """Return the seconds since the start at timestamps of another stream; 0 before the start."""
        return np.maximum(0.0, timestamps - (self.zero or 0.0))

    def seconds_at(self, timestamps: Floats) -> Floats:
        """Return the seconds since the start at each of consecutive timestamps, NaN if missing."""
        if self.zero is None:
            present = timestamps[~np.isnan(timestamps)]
            if not len(present):
                return np.full(len(timestamps), self.seconds)
            self.zero = float(present[0])
        parts: list[Floats] = []
        while len(timestamps):
            since_zero = timestamps - self.zero
            latest = np.fmax.accumulate(np.concatenate([[self.seconds], since_zero]))
            set_back = np.flatnonzero(since_zero < latest[:-1] - JITTER_SECONDS)
            end = int(set_back[0]) if len(set_back) else len(timestamps)
            parts.append(latest[1 : end + 1])
            self.seconds = float(latest[end])
            timestamps = timestamps[end:]
            if len(timestamps):
                self.zero = float(timestamps[0]) - self.seconds
        return np.concatenate([np.empty(0), *parts])


class SpeedEstimate(Struct):
    """Steps per second over the last 12 seconds of the run's own clock (longer if the step grows rarely).

    Learners report in bursts, so a rate over a fixed window would vary with the number of bursts in it.
    Instead, the window contains *advances* (times at which the step grew), and the rate is the growth between
    the first and the last of them. Only a pause longer than the longest one in the window counts as lost
    time, so the speed of a stalled run decreases smoothly. The time before the first growth, when the worker
    imports libraries, is excluded.
    """

    advances: list[tuple[float, float]] = []
    furthest: float | None = None
    now: float = 0.0

    def observe(self, seconds: Floats, steps: Floats) -> None:
        """Record that the run was at each of ``steps`` at that time on its clock."""
        if not len(steps):
            return
        self.now = max(self.now, float(seconds[-1]))
        if self.furthest is None:
            self.furthest = max(0.0, float(steps[0]))
        furthest = np.maximum.accumulate(np.concatenate([[self.furthest], steps]))
        self.furthest = float(furthest[-1])
        grown = np.flatnonzero(furthest[1:] > furthest[:-1])
        times, reached = seconds[grown], steps[grown]
        index = 0
        while index < len(grown):
            time = float(times[index])
            if self.advances and time - self.advances[-1][0] < SPACING_SECONDS:
                spaced = int(np.searchsorted(times, self.advances[-1][0] + SPACING_SECONDS))
                index = max(index + 1, spaced)
                continue
            self.advances.append((time, float(reached[index])))
            while len(self.advances) > MIN_ADVANCES and time - self.advances[0][0] > WINDOW_SECONDS:
                self.advances.pop(0)
            index += 1

    @property
    def steps_per_second(self) -> float | None:
        """The estimate, or None until the run has advanced for two seconds."""
        if not self.advances:
            return None
        (first_time, first_step), (last_time, last_step) = self.advances[0], self.advances[-1]
        if last_time - first_time < MIN_SECONDS:
            return None
        times = [time for time, _ in self.advances]
        longest_pause = max(later - earlier for earlier, later in pairwise(times))
        end = max(last_time, self.now - longest_pause)
        return (last_step - first_step) / (end - first_time)


class StepProgress(Struct):
    """A run's progress and speed, derived from its telemetry messages."""

    step: int = 0
    """The highest step reported."""
    first: int | None = None
    """The first nonzero step reported. For a resumed run, this is where it began."""
    row_step: int = 0
    """The step of the newest row of metrics."""
    clock: RunClock = field(default_factory=RunClock)
    speed: SpeedEstimate = field(default_factory=SpeedEstimate)

    @property
    def steps_per_second(self) -> float | None:
        """The recent speed (see `SpeedEstimate`)."""
        return self.speed.steps_per_second

    def reach(self, steps: Floats, seconds: Floats) -> None:
        """Process the step of each message, NaN if it reports none, at its time on the run's clock."""
        reports = ~np.isnan(steps)
        steps, seconds = steps[reports], seconds[reports]
        if self.first is None and (steps != 0).any():
            self.first = int(steps[steps != 0][0])
        self.step = int(max(self.step, steps.max(initial=0)))
        self.speed.observe(seconds, steps)


class EpisodeCount(Struct):
    """Counts ended episodes. An episode with several agents, which write one line each, counts once."""

    ended: int = 0
    """Number of episodes ended so far."""
    agents: int = 0
    """The largest number of agents reported for one episode."""
    episode: tuple[int | None, str | int | None] | None = None
    """The index of the newest episode, and the agent of its first line."""
    lines: int = 0
    """Number of lines of the newest episode."""

    def observe(self, message: Message) -> None:
        """Process the line of an ended episode."""
        # The agents of an episode write one line each, with the same index.
        episode = self.episode
        if episode is None or message.episode_index != episode[0] or message.agent_id == episode[1]:
            self.ended += 1
            self.episode, self.lines = (message.episode_index, message.agent_id), 0
        self.lines += 1
        self.agents = max(self.agents, self.lines)


class StreamFacts(Struct):
    """The facts of one stream, from the lines read so far."""

    progress: StepProgress = field(default_factory=StepProgress)
    episodes: EpisodeCount = field(default_factory=EpisodeCount)
    returns: dict[str, ReturnMeans] = {}
    """By metric name, for the metrics that are returns."""
    memory_mb: float | None = None
    """Memory of the worker at its newest heartbeat, in MiB."""

    def process(
        self, batches: Iterable[Sequence[Message]], report: Callable[[Sequence[Values]], object]
    ) -> Floats:
        """Process messages. Return the state of the run at each row of metrics, float64[4, rows]: the step
        (of the row before, if it has none), the episodes ended so far, the timestamp (NaN if it has none)
        and the seconds since the run's start. ``report`` gets the values of each batch's rows."""
        progress, episodes, ended = self.progress, self.episodes, self.episodes.ended
        arrays = zip(*(self._arrays(messages, report) for messages in batches), strict=True)
        is_row, steps, reported, new, times = map(np.concatenate, arrays)
        rows = np.flatnonzero(is_row)
        if len(rows):
            steps[rows] = _filled(steps[rows], progress.row_step)
            progress.row_step = int(steps[rows[-1]])
        # An episode adds 1, and a report of more episodes replaces the count.
        added = np.cumsum(new)
        counts = added + np.maximum.accumulate(reported - added).clip(ended)
        episodes.ended = int(counts.max(initial=ended))
        seconds = progress.clock.seconds_at(times)
        progress.reach(steps, seconds)
        states = np.stack([steps, counts, times, seconds])
        return states if len(rows) == len(steps) else states.take(rows, axis=1)

    def _arrays(
        self, messages: Sequence[Message], report: Callable[[Sequence[Values]], object]
    ) -> tuple[NDArray[Any], ...]:
        """Return of each message: whether it is a row of metrics, its step and timestamp (NaN without), the
        number of ended episodes that it reports, and the number that it adds to them."""
        rows = [message.payload for message in messages if message.event == METRICS and message.payload]
        report([row.values for row in rows if row.values is not None])
        times = np.array([message.timestamp for message in messages], np.float64)  # None becomes NaN
        steps = np.array([row.step for row in rows], np.float64)
        reported = np.array([row.episode for row in rows], np.int64)
        is_row, new = np.ones(len(messages), np.bool_), np.zeros(len(messages), np.int64)
        if len(rows) == len(messages):
            return is_row, steps, reported, new, times
        other_rows, observed = [], []
        for index, message in enumerate(messages):
            if message.event != METRICS:
                other_rows.append(index)
                observed.append(self._observe(message))
        is_row[other_rows] = False
        all_steps, all_reported = np.empty(len(messages)), np.empty(len(messages), np.int64)
        all_steps[is_row], all_reported[is_row] = steps, reported
        all_steps[other_rows], all_reported[other_rows], new[other_rows] = zip(*observed, strict=True)
        return is_row, all_steps, all_reported, new, times

    def _observe(self, message: Message) -> tuple[float, int, int]:
        """Process a message without metrics. Return the step (NaN if it has none) and the ended episodes that
        it reports, and the number of episodes that it adds to them."""
        payload, ended = message.payload, self.episodes.ended
        if message.event == HEARTBEAT and payload is not None:
            self.memory_mb = payload.memory_mb
            return payload.step or 0, payload.episode, 0
        if message.event == CHECKPOINT_SAVED and payload is not None:  # the last is often of the last step
            return payload.step or 0, 0, 0
        if message.type == EPISODE:
            self.episodes.observe(message)
            return message.step or 0, 0, self.episodes.ended - ended
        return math.nan, 0, 0

    @property
    def preferred_returns(self) -> ReturnMeans:
        """The last and the best return so far, of the first of `RETURN_NAMES` that was reported."""
        return next((self.returns[name] for name in RETURN_NAMES if name in self.returns), ReturnMeans())


def _filled(steps: Floats, previous_step: int) -> Floats:
    """Return the steps of rows; those without one have the step of the row ``previous_step``."""
    has_step = ~np.isnan(steps)
    if has_step.all():
        return steps
    last_known = np.maximum.accumulate(np.where(has_step, np.arange(len(steps)), -1))
    return np.where(last_known < 0, previous_step, steps[last_known])
