"""The facts of a run that its panel's header shows: progress, speed, episodes, returns and memory.

All are structs, so that the cache of columns can store them.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct, field

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.decoding import Message, Payload
from mosaic_lab.telemetry.metrics import RETURN_NAMES, ReturnMeans

JITTER_SECONDS = 1.0
"""Threads of a worker write slightly out of order. A larger step back means that a clock was set."""
WINDOW_SECONDS = 12.0
"""Age at which advances leave the window, as long as ``MIN_ADVANCES`` remain."""
MIN_ADVANCES = 8
SPACING_SECONDS = 0.25
"""Advances closer together than this are merged, which bounds the window's memory at any rate of lines."""
LEAST_SECONDS = 2.0
"""Minimum time span of the advances for an estimate."""


class RunClock(Struct):
    """Converts timestamps to seconds since the run's start.

    If a clock is set back, time continues from the last moment. A missing timestamp repeats that moment.
    """

    seconds: float = 0.0
    """The latest time seen."""
    zero: float | None = None
    """The timestamp of zero seconds; None before the first timestamp."""

    def since_start(self, timestamp: float) -> float:
        """Return the seconds since the start at a timestamp of another stream; 0 before the start."""
        return max(0.0, timestamp - (self.zero or timestamp))

    def at(self, timestamp: float | None) -> float:
        """Return the seconds since the start at ``timestamp``."""
        if timestamp is None:
            return self.seconds
        if self.zero is None:
            self.zero = timestamp
            return 0.0
        seconds = timestamp - self.zero
        if seconds < self.seconds - JITTER_SECONDS:
            self.zero = timestamp - self.seconds
        elif seconds > self.seconds:
            self.seconds = seconds
        return self.seconds


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

    def observe(self, seconds: float, step: float) -> None:
        """Record that the run was at ``step`` at ``seconds`` on its clock."""
        self.now = max(self.now, seconds)
        furthest, self.furthest = self.furthest, max(self.furthest or 0, step)
        if furthest is None or step <= furthest:
            return
        if self.advances and seconds - self.advances[-1][0] < SPACING_SECONDS:
            return
        self.advances.append((seconds, step))
        while len(self.advances) > MIN_ADVANCES and seconds - self.advances[0][0] > WINDOW_SECONDS:
            self.advances.pop(0)

    @property
    def steps_per_second(self) -> float | None:
        """The estimate, or None until the run has advanced for two seconds."""
        if not self.advances:
            return None
        (first_time, first_step), (last_time, last_step) = self.advances[0], self.advances[-1]
        if last_time - first_time < LEAST_SECONDS:
            return None
        times = [time for time, _ in self.advances]
        longest_pause = max(later - earlier for earlier, later in pairwise(times))
        until = max(last_time, self.now - longest_pause)
        return (last_step - first_step) / (until - first_time)


class StepProgress(Struct):
    """A run's progress and speed, derived from its telemetry messages."""

    step: int = 0
    """The highest step reported."""
    first: int | None = None
    """The first nonzero step reported. For a resumed run, this is where it began."""
    row_step: float = 0
    """The step of the newest row of metrics."""
    clock: RunClock = field(default_factory=RunClock)
    speed: SpeedEstimate = field(default_factory=SpeedEstimate)

    @property
    def steps_per_second(self) -> float | None:
        """The recent speed (see `SpeedEstimate`)."""
        return self.speed.steps_per_second

    def take(self, message: Message) -> float:
        """Process a message and return its seconds since the run's start."""
        seconds = self.clock.at(message.timestamp)
        payload = message.payload or Payload()
        if message.event == METRICS:
            if payload.step is not None:
                self.row_step = payload.step
            step = int(self.row_step)
        elif message.event in (HEARTBEAT, CHECKPOINT_SAVED):  # the last checkpoint is often of the last step
            step = payload.step or 0
        elif message.type == EPISODE:
            step = message.step or 0
        else:
            return seconds
        self.step = max(self.step, step)
        self.first = self.first or step or None
        self.speed.observe(seconds, self.step)
        return seconds


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

    def at_least(self, ended: int) -> None:
        """Process a reported number of episodes."""
        self.ended = max(self.ended, ended)


class StreamFacts(Struct):
    """The facts of one stream, from the lines read so far."""

    progress: StepProgress = field(default_factory=StepProgress)
    episodes: EpisodeCount = field(default_factory=EpisodeCount)
    returns: dict[str, ReturnMeans] = {}
    """By metric name, for the metrics that are returns."""
    memory_mb: float | None = None
    """Memory of the worker at its newest heartbeat, in MiB."""

    def take(self, message: Message) -> float:
        """Process a message and return its seconds since the run's start."""
        payload = message.payload or Payload()
        if message.event in (METRICS, HEARTBEAT):
            self.episodes.at_least(payload.episode)
        if message.event == HEARTBEAT:
            self.memory_mb = payload.memory_mb
        elif message.type == EPISODE:
            self.episodes.observe(message)
        return self.progress.take(message)

    @property
    def preferred_returns(self) -> ReturnMeans:
        """The last and the best return so far, of the first of `RETURN_NAMES` that was reported."""
        return next((self.returns[name] for name in RETURN_NAMES if name in self.returns), ReturnMeans())
