"""The progress of a run (steps, speed and episodes) on a monotonic time axis in seconds."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.decoding import Message, Payload

JITTER_SECONDS = 1.0
"""Threads of a worker write slightly out of order. A larger step back means that a clock was set."""
WINDOW_SECONDS = 12.0
"""Age at which advances leave the window, as long as ``MIN_ADVANCES`` remain."""
MIN_ADVANCES = 8
SPACING_SECONDS = 0.25
"""Advances closer together than this are merged, which bounds the window's memory at any rate of lines."""
LEAST_SECONDS = 2.0
"""Minimum time span of the advances for an estimate."""


class RunClock:
    """Converts timestamps to seconds since the run's start.

    If a clock is set back, time continues from the last moment. A missing timestamp repeats that moment.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """The latest time seen."""
        self._zero: float | None = None

    @property
    def begun(self) -> bool:
        """Whether there has been a timestamp."""
        return self._zero is not None

    def since_start(self, timestamp: float) -> float:
        """Return the seconds since the start at a timestamp of another stream; 0 before the start."""
        return max(0.0, timestamp - (self._zero or timestamp))

    def at(self, timestamp: float | None) -> float:
        """Return the seconds since the start at ``timestamp``."""
        if timestamp is None:
            return self.seconds
        if self._zero is None:
            self._zero = timestamp
            return 0.0
        seconds = timestamp - self._zero
        if seconds < self.seconds - JITTER_SECONDS:
            self._zero = timestamp - self.seconds
        elif seconds > self.seconds:
            self.seconds = seconds
        return self.seconds


class SpeedEstimate:
    """Steps per second over the last 12 seconds of the run's own clock (longer if the step grows rarely).

    Learners report in bursts, so a rate over a fixed window would vary with the number of bursts in it.
    Instead, the window contains *advances* (times at which the step grew), and the rate is the growth between
    the first and the last of them. Only a pause longer than the longest one in the window counts as lost
    time, so the speed of a stalled run decreases smoothly. The time before the first growth, when the worker
    imports libraries, is excluded.
    """

    def __init__(self) -> None:
        self._advances: deque[tuple[float, float]] = deque()
        self._furthest: float | None = None
        self._now = 0.0

    def observe(self, seconds: float, step: float) -> None:
        """Record that the run was at ``step`` at ``seconds`` on its clock."""
        self._now = max(self._now, seconds)
        furthest, self._furthest = self._furthest, max(self._furthest or 0, step)
        if furthest is None or step <= furthest:
            return
        if self._advances and seconds - self._advances[-1][0] < SPACING_SECONDS:
            return
        self._advances.append((seconds, step))
        while len(self._advances) > MIN_ADVANCES and seconds - self._advances[0][0] > WINDOW_SECONDS:
            self._advances.popleft()

    @property
    def steps_per_second(self) -> float | None:
        """The estimate, or None until the run has advanced for two seconds."""
        if not self._advances:
            return None
        (first_time, first_step), (last_time, last_step) = self._advances[0], self._advances[-1]
        if last_time - first_time < LEAST_SECONDS:
            return None
        times = [time for time, _ in self._advances]
        longest_pause = max(later - earlier for earlier, later in pairwise(times))
        until = max(last_time, self._now - longest_pause)
        return (last_step - first_step) / (until - first_time)


class StepProgress:
    """A run's progress and speed, derived from its telemetry messages."""

    def __init__(self) -> None:
        self.step = 0
        """The highest step reported."""
        self.first: int | None = None
        """The first nonzero step reported. For a resumed run, this is where it began."""
        self.row_step: float = 0
        """The step of the newest row of metrics."""
        self.clock = RunClock()
        self._speed = SpeedEstimate()

    @property
    def steps_per_second(self) -> float | None:
        """The recent speed (see `SpeedEstimate`)."""
        return self._speed.steps_per_second

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
        self._speed.observe(seconds, self.step)
        return seconds


class EpisodeCount:
    """Counts ended episodes. An episode with several agents, which write one line each, counts once."""

    def __init__(self) -> None:
        self.ended = 0
        """Number of episodes ended so far."""
        self.agents = 0
        """The largest number of agents reported for one episode."""
        self._episode: tuple[object, object] | None = None
        self._lines = 0  # of that episode

    def observe(self, message: Message) -> None:
        """Process the line of an ended episode."""
        # The agents of an episode write one line each, with the same index.
        episode = self._episode
        if episode is None or message.episode_index != episode[0] or message.agent_id == episode[1]:
            self.ended += 1
            self._episode, self._lines = (message.episode_index, message.agent_id), 0
        self._lines += 1
        self.agents = max(self.agents, self._lines)

    def at_least(self, ended: int) -> None:
        """Process the number of episodes reported in a heartbeat."""
        self.ended = max(self.ended, ended)
