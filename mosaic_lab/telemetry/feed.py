"""The live model of one run, built from the files in its folder.

Each :meth:`RunFeed.poll` does a bounded amount of work and everything kept is bounded, whatever the run
writes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.batch import Batch
from mosaic_lab.telemetry.clock import RunClock, SpeedEstimate
from mosaic_lab.telemetry.decoding import Health, Message, Payload, parse
from mosaic_lab.telemetry.episodes import EpisodeCount
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.series import Series

BYTES_PER_POLL = 1 << 20
"""What one poll reads at most: a few milliseconds of work, so that no run starves another or the main thread.
"""


class RunFeed:
    """The live model of one run. ``poll`` brings it up to date; everything else only reads.

    One thread polls at a time (a lock sees to it); the attributes may be read from any thread.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._follower = JsonlFollower(self.folder / "telemetry.jsonl")
        self._system = JsonlFollower(self.folder / "system.jsonl")
        self._lock = threading.Lock()
        self._side_files = tuple(str(self.folder / name) for name in ("state.json", "worker.log"))
        self._forget()
        self._polled: tuple[object, ...] = (0, False, 0, None, None)

    def _forget(self) -> None:
        self.series: dict[str, Series] = {}
        """By metric name, in order of appearance. Replaced, never changed, when a name is added."""
        self.step = 0
        """The furthest step reported."""
        self.seconds = 0.0
        """Seconds from the run's start to its newest line, by the run's own clock."""
        self.memory_mb: float | None = None
        """Memory of the worker at its newest heartbeat, MB."""
        self.steps_per_second: float | None = None
        """Speed over the run's last seconds (see `SpeedEstimate`), ``None`` at first."""
        self._clock = RunClock()
        self._speed = SpeedEstimate()
        self._row_step: float = 0
        self._episodes = EpisodeCount()
        self._replaced = self._follower.health.replaced

    @property
    def health(self) -> Health:
        """Counts of what the stream held."""
        return self._follower.health

    @property
    def episodes(self) -> int:
        """Episodes ended; the agents of one episode count once."""
        return self._episodes.ended

    @property
    def agents(self) -> int:
        """The largest number of agents reported for one episode."""
        return self._episodes.agents

    @property
    def behind(self) -> bool:
        """The last poll left something unread."""
        return self._follower.behind or self._system.behind

    @property
    def missing(self) -> bool:
        """The telemetry file was there and has been deleted."""
        return self._follower.missing

    def seconds_left(self, total_timesteps: int) -> float | None:
        """Estimated seconds until ``total_timesteps``; ``None`` while the speed is unknown or zero."""
        speed = self.steps_per_second
        return max(0, total_timesteps - self.step) / speed if speed else None

    def poll(self) -> bool:
        """Read at most 1 MiB of what is new; true if anything changed: the stream, the state or the log.

        What the keeper measured is read too, and is no change: it is no sign of life of the worker.
        Raises ``OSError`` where the file is there but cannot be read.
        """
        with self._lock:
            lines = self._follower.poll(BYTES_PER_POLL)
            if self.health.replaced != self._replaced:
                self._forget()
                self._system.close()
                self._system = JsonlFollower(self._system.path)
            if lines:
                self._take(lines)
            if self._clock.begun:  # the worker's first line is the zero of the time axis
                self._take_system()
            follower, (state, log) = self._follower, self._side_files
            stamp = (follower.offset, follower.missing, self._replaced, _stamp(state), _stamp(log))
            changed = stamp != self._polled
            self._polled = stamp
            return changed

    def close(self) -> None:
        """Let go of the file of a run that has ended; should it grow all the same, a later poll reads on."""
        with self._lock:
            self._follower.close()
            self._system.close()

    def _take_system(self) -> None:
        """Take in what the keeper measured; a file of its that cannot be read costs nothing else."""
        try:
            lines = self._system.poll(BYTES_PER_POLL)
        except OSError:
            return
        batch = Batch()
        for line in lines:
            message = parse(line, self._system.health)
            if message is None or message.event != METRICS or message.timestamp is None:
                continue
            payload = message.payload
            assert payload is not None and payload.values is not None  # parse() lets no other pass
            seconds = self._clock.since_start(message.timestamp)
            batch.add(payload.step or 0, payload.episode, seconds, payload.values)
            self.health.missed_by_keeper = max(self.health.missed_by_keeper, payload.missed)
        self._store(batch)

    def _take(self, lines: list[bytes]) -> None:
        batch = Batch()
        for line in lines:
            message = parse(line, self.health)
            if message is None:
                continue
            if message.event == METRICS:
                payload = message.payload
                assert payload is not None  # parse() lets no other pass
                values = payload.values
                assert values is not None
                if payload.step is not None:
                    self._row_step = payload.step
                seconds = self._clock.at(message.timestamp)
                self._speed.observe(seconds, self._row_step)
                batch.add(self._row_step, self.episodes, seconds, values)
            elif message.event:
                self._take_event(
                    message.event, message.payload or Payload(), self._clock.at(message.timestamp)
                )
            elif message.type == EPISODE:
                self._take_episode(message)
        self.seconds = self._clock.seconds
        self.step = max(self.step, int(self._row_step))
        self.steps_per_second = self._speed.steps_per_second
        self._store(batch)

    def _take_event(self, event: str, payload: Payload, seconds: float) -> None:
        if event in (HEARTBEAT, CHECKPOINT_SAVED):  # the last checkpoint is often of the training's last step
            self.step = max(self.step, payload.step or 0)
        if event == HEARTBEAT:
            self.memory_mb = payload.memory_mb
            self._episodes.at_least(payload.episode)
            self.health.dropped_by_worker = max(self.health.dropped_by_worker, payload.dropped_lines)
            self._speed.observe(seconds, self.step)

    def _take_episode(self, message: Message) -> None:
        seconds = self._clock.at(message.timestamp)
        if message.step is not None:
            self.step = max(self.step, message.step)
            self._speed.observe(seconds, self.step)
        self._episodes.observe(message)

    def _store(self, batch: Batch) -> None:
        step, episode, seconds = batch.rows()
        for name, rows, values in batch.columns(self.series, self.health):
            if name not in self.series:
                self.series = {**self.series, name: Series()}
            self.series[name].extend(step[rows], episode[rows], seconds[rows], values)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - twenty runs are looked at ten times a second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
