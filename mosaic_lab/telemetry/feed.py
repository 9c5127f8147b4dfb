"""The live models of runs (`RunFeed`), which all viewers of a run share (`feed_of`)."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metrics import ReturnMeans, episodes_return
from mosaic_lab.telemetry.progress import StepProgress


class RunFeed(RunColumns):
    """The live model of one run. ``poll`` updates it; everything else only reads.

    One thread polls at a time. The attributes may be read from any thread.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).resolve()
        super().__init__(self.folder, ColumnCache())
        self._polling = threading.Lock()
        self._side_files = tuple(str(self.folder / name) for name in ("state.json", "worker.log"))
        self._polled: tuple[object, ...] = (self.position, None, None)
        self.changes = 0
        """The number of polls that have found a change."""

    @property
    def progress(self) -> StepProgress:
        return self.facts.progress

    @property
    def step(self) -> int:
        """The highest step reported."""
        return self.progress.step

    @property
    def seconds(self) -> float:
        """Seconds from the run's start to its newest line, by the run's own clock."""
        return self.progress.clock.seconds

    @property
    def memory_mb(self) -> float | None:
        """Memory of the worker at its newest heartbeat, in MiB."""
        return self.facts.memory_mb

    @property
    def returns(self) -> ReturnMeans:
        """The last and the best return so far."""
        return self.facts.preferred_returns

    @property
    def last_return(self) -> float | None:
        """The last return, taken from the episode lines if no metric is a return."""
        last = self.returns.last
        return episodes_return(self.folder / "telemetry.jsonl") if last is None else last

    @property
    def episodes(self) -> int:
        """Number of episodes ended; an episode with several agents counts once."""
        return self.facts.episodes.ended

    @property
    def agents(self) -> int:
        """The largest number of agents reported for one episode."""
        return self.facts.episodes.agents

    @property
    def behind(self) -> bool:
        """Whether the last poll left data unread."""
        return self.unread > 0

    def seconds_left(self, total_timesteps: int) -> float | None:
        """Return the estimated seconds until ``total_timesteps``; None while the speed is unknown or zero."""
        speed = self.progress.steps_per_second
        return max(0, total_timesteps - self.step) / speed if speed else None

    def poll(self, ended: bool = False, side_files: bool = True) -> bool:
        """Read a bounded amount of new data. Return whether anything changed: the stream, the state or the
        log.

        With ``side_files``, measurements of the keeper and evaluations are also read, but do not count as a
        change, because they are no sign of life of the worker. If the run has ``ended``, its columns are
        cached when all is read. Raises OSError if the worker's file exists but cannot be read.
        """
        with self._polling:
            self.read_worker(lambda: ended)
            if side_files:
                with suppress(OSError):
                    self.read_beside(lambda: ended)
            state, log = self._side_files
            stamp = (self.position, _stamp(state), _stamp(log))
            changed = stamp != self._polled
            self._polled = stamp
            self.changes += changed
            return changed


_feeds: WeakValueDictionary[Path, RunFeed] = WeakValueDictionary()
_feeds_lock = threading.Lock()


def feed_of(folder: Path | str) -> RunFeed:
    """Return the feed of a run folder, shared by all current viewers of that run."""
    path = Path(folder).resolve()
    with _feeds_lock:
        feed = _feeds.get(path)
        if feed is None:
            feed = _feeds[path] = RunFeed(path)
        return feed


def _stamp(path: str) -> object:
    try:
        status = os.stat(path)  # noqa: PTH116 - twenty runs are polled ten times a second
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
