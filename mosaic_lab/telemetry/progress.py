"""How far a run is: its steps, speed and episodes, on a time axis of seconds that never go back."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.decoding import Message, Payload

JITTER_SECONDS = 1.0
"""Threads of one worker write slightly out of order; going back by more than this is a clock that was set."""
WINDOW_SECONDS = 12.0
"""Advances older than this leave the window, as long as ``MIN_ADVANCES`` stay."""
MIN_ADVANCES = 8
SPACING_SECONDS = 0.25
"""Advances closer together than this are one: it bounds the window's memory at any rate of lines."""
LEAST_SECONDS = 2.0
"""Advances over a shorter time say nothing yet."""


class RunClock:
    """Turns timestamps into seconds since the run's start.

    After a clock was set back, time continues from the last moment, which a missing timestamp repeats.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """The newest moment seen."""
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
    """Steps per second over the last 12 seconds of the run's own clock (longer, where it advances rarely).

    Learners report in bursts, so a rate over a fixed window would swing with the number of bursts in it. The
    window holds *advances* (moments at which the step grew), and the rate is the growth between the first and
    the last of them. Only a pause beyond the longest one in the window counts as lost time, so a stalled run
    slows down smoothly. The time before the step first grows, when the worker imports, is left out.
    """

    def __init__(self) -> None:
        self._advances: deque[tuple[float, float]] = deque()
        self._furthest: float | None = None
        self._now = 0.0

    def observe(self, seconds: float, step: float) -> None:
        """Take in that the run stood at ``step`` at ``seconds`` on its clock."""
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
        """The estimate, or ``None`` before the run has advanced for two seconds."""
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
    """How far a run is, and how fast, by the messages of its telemetry."""

    def __init__(self) -> None:
        self.step = 0
        """The furthest step reported."""
        self.first: int | None = None
        """The first step reported that is not 0: of a run that continues, where it began."""
        self.row_step: float = 0
        """The step of the newest row of metrics."""
        self.clock = RunClock()
        self._speed = SpeedEstimate()

    @property
    def steps_per_second(self) -> float | None:
        """The speed over the last seconds (see `SpeedEstimate`)."""
        return self._speed.steps_per_second

    def take(self, message: Message) -> float:
        """Take in a message, and return its seconds since the run's start."""
        seconds = self.clock.at(message.timestamp)
        payload = message.payload or Payload()
        if message.event == METRICS:
            if payload.step is not None:
                self.row_step = payload.step
            step = int(self.row_step)
        elif message.event in (HEARTBEAT, CHECKPOINT_SAVED):  # the last one is often of the last step
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
    """Counts ended episodes: the agents of one episode, which write a line each, count once."""

    def __init__(self) -> None:
        self.ended = 0
        """Episodes ended so far."""
        self.agents = 0
        """The largest number of agents reported for one episode."""
        self._episode: tuple[object, object] | None = None
        self._lines = 0  # of that episode

    def observe(self, message: Message) -> None:
        """Take in the line of an ended episode."""
        # The agents of one episode write a line each, under the same index.
        episode = self._episode
        if episode is None or message.episode_index != episode[0] or message.agent_id == episode[1]:
            self.ended += 1
            self._episode, self._lines = (message.episode_index, message.agent_id), 0
        self._lines += 1
        self.agents = max(self.agents, self._lines)

    def at_least(self, ended: int) -> None:
        """Take in the number of episodes that a heartbeat reports."""
        self.ended = max(self.ended, ended)
