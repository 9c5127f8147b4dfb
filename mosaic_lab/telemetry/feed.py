"""The live model of one run, built from the files in its folder.

Each :meth:`RunFeed.poll` does a bounded amount of work and everything kept is bounded, whatever the run
writes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.clock import RunClock, SpeedEstimate
from mosaic_lab.telemetry.decoding import Health, Message, Payload, parse
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.series import Series

BYTES_PER_POLL = 1 << 20
"""What one poll reads at most: a few milliseconds of work, so that no run starves another or the main thread.
"""
MAX_NAMES = 256
"""Metric names kept; values of further names are counted in ``health.dropped_values``."""
MAX_NAME_LENGTH = 500
"""Longer names are left out in the same way."""


class RunFeed:
    """The live model of one run. ``poll`` brings it up to date; everything else only reads.

    One thread polls at a time (a lock sees to it); the attributes may be read from any thread.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._follower = JsonlFollower(self.folder / "telemetry.jsonl")
        self._lock = threading.Lock()
        self._side_files = tuple(str(self.folder / name) for name in ("state.json", "worker.log"))
        self._forget()
        self._polled: tuple[object, ...] = (0, False, 0, None, None)

    def _forget(self) -> None:
        self.series: dict[str, Series] = {}
        """By metric name, in order of appearance. Replaced, never changed, when a name is added."""
        self.step = 0
        """The furthest step reported."""
        self.episodes = 0
        """Episodes ended; the agents of one episode count once."""
        self.agents = 0
        """The largest number of agents reported for one episode."""
        self.seconds = 0.0
        """Seconds from the run's start to its newest line, by the run's own clock."""
        self.memory_mb: float | None = None
        """Memory of the worker at its newest heartbeat, MB."""
        self.steps_per_second: float | None = None
        """Speed over the run's last seconds (see `SpeedEstimate`), ``None`` at first."""
        self._clock = RunClock()
        self._speed = SpeedEstimate()
        self._row_step: float = 0
        self._episode: tuple[object, object] | None = None
        self._lines = 0  # of that episode
        self._replaced = self._follower.health.replaced

    @property
    def health(self) -> Health:
        """Counts of what the stream held."""
        return self._follower.health

    @property
    def behind(self) -> bool:
        """The last poll left something unread."""
        return self._follower.behind

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

        Raises ``OSError`` where the file is there but cannot be read.
        """
        with self._lock:
            lines = self._follower.poll(BYTES_PER_POLL)
            if self.health.replaced != self._replaced:
                self._forget()
            if lines:
                self._take(lines)
            follower, (state, log) = self._follower, self._side_files
            stamp = (follower.offset, follower.missing, self._replaced, _stamp(state), _stamp(log))
            changed = stamp != self._polled
            self._polled = stamp
            return changed

    def close(self) -> None:
        """Let go of the file of a run that has ended; should it grow all the same, a later poll reads on."""
        with self._lock:
            self._follower.close()

    def _take(self, lines: list[bytes]) -> None:
        batch = _Batch()
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
            self.episodes = max(self.episodes, payload.episode)
            self.health.dropped_by_worker = max(self.health.dropped_by_worker, payload.dropped_lines)
            self._speed.observe(seconds, self.step)

    def _take_episode(self, message: Message) -> None:
        seconds = self._clock.at(message.timestamp)
        if message.step is not None:
            self.step = max(self.step, message.step)
            self._speed.observe(seconds, self.step)
        # The agents of one episode write a line each, under the same index.
        episode = self._episode
        if episode is None or message.episode_index != episode[0] or message.agent_id == episode[1]:
            self.episodes += 1
            self._episode, self._lines = (message.episode_index, message.agent_id), 0
        self._lines += 1
        self.agents = max(self.agents, self._lines)

    def _store(self, batch: _Batch) -> None:
        step, episode, seconds = (np.array(column, dtype=np.float64) for column in batch.rows)
        for name, (rows, values) in batch.columns.items():
            if name not in self.series:
                if len(self.series) >= MAX_NAMES or len(name) > MAX_NAME_LENGTH:
                    self.health.dropped_values += len(values)
                    continue
                self.series = {**self.series, name: Series()}
            at = np.array(rows)
            self.series[name].extend(step[at], episode[at], seconds[at], np.array(values, dtype=np.float64))


class _Batch:
    """The metrics of one poll, by column."""

    def __init__(self) -> None:
        self.rows: tuple[list[float], list[float], list[float]] = ([], [], [])
        self.columns: dict[str, tuple[list[int], list[float | str]]] = {}

    def add(self, step: float, episode: float, seconds: float, values: dict[str, Any]) -> None:
        row = len(self.rows[0])
        for column, number in zip(self.rows, (step, episode, seconds), strict=True):
            column.append(number)
        for name, value in values.items():
            found = self.columns.get(name)
            if found is None:
                found = self.columns[name] = ([], [])
            found[0].append(row)
            found[1].append(value)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - twenty runs are looked at ten times a second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
