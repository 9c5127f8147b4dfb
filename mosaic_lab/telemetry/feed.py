"""The live model of one run, built from the files in its folder.

Each :meth:`RunFeed.poll` does a bounded amount of work, and all stored data is bounded, whatever the run
writes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from mosaic_lab.keeper.events import EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.batch import Batch
from mosaic_lab.telemetry.decoding import Health, Payload, parse
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.metric_names import RETURN_NAMES
from mosaic_lab.telemetry.progress import EpisodeCount, StepProgress
from mosaic_lab.telemetry.returns import ReturnMeans, episodes_return
from mosaic_lab.telemetry.series import Series

BYTES_PER_POLL = 1 << 20
"""Maximum bytes read per poll, which takes a few milliseconds, so that no run blocks another or the page."""


class RunFeed:
    """The live model of one run. ``poll`` updates it; everything else only reads.

    A lock ensures that one thread polls at a time. The attributes may be read from any thread.
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
        """By metric name, in order of appearance. Replaced rather than modified if a name is added."""
        self.seconds = 0.0
        """Seconds from the run's start to its newest line, by the run's own clock."""
        self.memory_mb: float | None = None
        """Memory of the worker at its newest heartbeat, in MiB."""
        self.progress = StepProgress()
        self._returns: dict[str, ReturnMeans] = {}
        self._episodes = EpisodeCount()
        self._replaced = self._follower.health.replaced

    @property
    def health(self) -> Health:
        """Counts of irregularities in the stream."""
        return self._follower.health

    @property
    def step(self) -> int:
        """The highest step reported."""
        return self.progress.step

    @property
    def returns(self) -> ReturnMeans:
        """The last and the best return so far."""
        return next((self._returns[name] for name in RETURN_NAMES if name in self._returns), ReturnMeans())

    @property
    def last_return(self) -> float | None:
        """The last return, taken from the episode lines if no metric is a return."""
        last = self.returns.last
        return episodes_return(self._follower.path) if last is None else last

    @property
    def episodes(self) -> int:
        """Number of episodes ended; an episode with several agents counts once."""
        return self._episodes.ended

    @property
    def agents(self) -> int:
        """The largest number of agents reported for one episode."""
        return self._episodes.agents

    @property
    def behind(self) -> bool:
        """Whether the last poll left data unread."""
        return self._follower.behind or self._system.behind

    @property
    def missing(self) -> bool:
        """Whether the telemetry file has been deleted."""
        return self._follower.missing

    def seconds_left(self, total_timesteps: int) -> float | None:
        """Return the estimated seconds until ``total_timesteps``; None while the speed is unknown or zero."""
        speed = self.progress.steps_per_second
        return max(0, total_timesteps - self.step) / speed if speed else None

    def poll(self) -> bool:
        """Read at most 1 MiB of new data. Return whether anything changed: the stream, the state or the log.

        Measurements of the keeper are also read, but do not count as a change, because they are no sign of
        life of the worker. Raises OSError if the file exists but cannot be read.
        """
        with self._lock:
            lines = self._follower.poll(BYTES_PER_POLL)
            if self.health.replaced != self._replaced:
                self._forget()
                self._system.close()
                self._system = JsonlFollower(self._system.path)
            if lines:
                self._take(lines)
            if self.progress.clock.begun:  # the worker's first line is the zero of the time axis
                self._take_system()
            follower, (state, log) = self._follower, self._side_files
            stamp = (follower.offset, follower.missing, self._replaced, _stamp(state), _stamp(log))
            changed = stamp != self._polled
            self._polled = stamp
            return changed

    def close(self) -> None:
        """Close the files of a run that has ended. If they grow nevertheless, a later poll continues
        reading."""
        with self._lock:
            self._follower.close()
            self._system.close()

    def _take_system(self) -> None:
        """Process the keeper's measurements. An unreadable file affects nothing else."""
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
            assert payload is not None and payload.values is not None  # ensured by parse()
            seconds = self.progress.clock.since_start(message.timestamp)
            batch.add(payload.step or 0, payload.episode, seconds, payload.values)
            self.health.missed_by_keeper = max(self.health.missed_by_keeper, payload.missed)
        self._store(batch)

    def _take(self, lines: list[bytes]) -> None:
        batch = Batch()
        for line in lines:
            message = parse(line, self.health)
            if message is None:
                continue
            seconds = self.progress.take(message)
            if message.event == METRICS:
                payload = message.payload
                assert payload is not None and payload.values is not None  # ensured by parse()
                batch.add(self.progress.row_step, self.episodes, seconds, payload.values)
            elif message.event == HEARTBEAT:
                self._take_heartbeat(message.payload or Payload())
            elif message.type == EPISODE:
                self._episodes.observe(message)
        self.seconds = self.progress.clock.seconds
        self._store(batch)

    def _take_heartbeat(self, payload: Payload) -> None:
        self.memory_mb = payload.memory_mb
        self._episodes.at_least(payload.episode)
        self.health.dropped_by_worker = max(self.health.dropped_by_worker, payload.dropped_lines)

    def _store(self, batch: Batch) -> None:
        step, episode, seconds = batch.rows()
        for name, rows, values in batch.columns(self.series, self.health):
            if name in RETURN_NAMES:
                self._returns.setdefault(name, ReturnMeans()).add(values)
            if name not in self.series:
                self.series = {**self.series, name: Series()}
            self.series[name].extend(step[rows], episode[rows], seconds[rows], values)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - twenty runs are polled ten times a second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
