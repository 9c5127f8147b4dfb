"""The live models of runs (`RunFeed`), and the single thread that updates all watched ones (`Watcher`).

A feed is polled every 100 ms, and every 25 ms while it changes; the files beside the worker's once a second.
A poll reads a bounded amount, so a run with a million unread lines delays the others by milliseconds only.
The thread sleeps at least as long as it worked, so the kernel's main thread keeps at least half of the
interpreter's time.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from weakref import WeakValueDictionary

from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metrics import ReturnMeans, episodes_return
from mosaic_lab.telemetry.progress import StepProgress

IDLE_SECONDS = 0.1
"""Polling interval of an idle run."""
BUSY_SECONDS = 0.025
"""Polling interval of a run that is changing."""
BUSY_FOR_SECONDS = 1.0
"""Time for which a run counts as changing after a change."""

logger = logging.getLogger(__name__)


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
            return changed


Callback = Callable[[RunFeed], None]


class _Subscription:
    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.pending = True  # a new subscriber receives the current data first
        self.called_at = float("-inf")
        self.error_logged = False


class _Watched:
    """A feed and its subscriptions."""

    def __init__(self, feed: RunFeed) -> None:
        self.feed = feed
        self.subscriptions: tuple[_Subscription, ...] = ()
        self.next_poll = float("-inf")
        self.changed_at = float("-inf")
        self.side_files_second = -1
        self.error_logged = False


class Watcher:
    """Polls the feeds that have subscribers, and notifies them. `watcher()` returns the process's
    instance."""

    def __init__(self) -> None:
        self._watched: dict[RunFeed, _Watched] = {}  # replaced rather than modified, under the lock
        self._feeds: WeakValueDictionary[Path, RunFeed] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def feed(self, folder: Path | str) -> RunFeed:
        """Return the feed of a run folder, shared by all current viewers of that run."""
        path = Path(folder).resolve()
        with self._lock:
            feed = self._feeds.get(path)
            if feed is None:
                feed = self._feeds[path] = RunFeed(path)
            return feed

    def subscribe(self, feed: RunFeed, callback: Callback) -> Callable[[], None]:
        """Call ``callback(feed)`` on the watcher's thread soon, and again after every change.

        The callback blocks all others, so it must be fast. An exception in it is logged once and does not end
        the subscription. Returns a function that ends it.
        """
        subscription = _Subscription(callback)
        with self._lock:
            watched = self._watched.get(feed) or _Watched(feed)
            watched.subscriptions = (*watched.subscriptions, subscription)
            watched.next_poll = float("-inf")
            self._watched = {**self._watched, feed: watched}
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mosaic-watcher", daemon=True)
                self._thread.start()
        self._wake.set()
        return partial(self._unsubscribe, watched, subscription)

    def close(self, timeout: float = 1.0) -> None:
        """Stop the thread permanently, waiting at most ``timeout`` seconds for a running callback."""
        self._closed = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _unsubscribe(self, watched: _Watched, subscription: _Subscription) -> None:
        with self._lock:
            remaining = (other for other in watched.subscriptions if other is not subscription)
            watched.subscriptions = tuple(remaining)
            self._watched = {feed: run for feed, run in self._watched.items() if run.subscriptions}

    def _run(self) -> None:
        while not self._closed:
            self._wake.clear()
            began = time.monotonic()
            watched = tuple(self._watched.values())
            for run in watched:
                if run.next_poll <= began:
                    self._update(run)
            now = time.monotonic()
            # If nothing is watched, this waits for the next subscription.
            until_next = min((run.next_poll - now for run in watched), default=None)
            self._wake.wait(None if until_next is None else max(until_next, now - began))

    def _update(self, run: _Watched) -> None:
        now = time.monotonic()
        side_files_due = run.feed.behind or int(now) != run.side_files_second
        run.side_files_second = int(now)
        changed = self._poll(run, side_files_due)
        if changed:
            run.changed_at = now
        busy = now - run.changed_at < BUSY_FOR_SECONDS
        unread = changed and run.feed.behind
        interval = BUSY_SECONDS if busy else IDLE_SECONDS
        # Aligned to a time grid, so that one wake-up serves all runs.
        run.next_poll = now if unread else (now // interval + 1) * interval
        for subscription in run.subscriptions:
            subscription.pending = subscription.pending or changed
            if subscription.pending and now - subscription.called_at >= BUSY_SECONDS / 2:
                subscription.pending, subscription.called_at = False, now
                _notify(subscription, run.feed)

    def _poll(self, run: _Watched, side_files: bool) -> bool:
        try:
            changed = run.feed.poll(side_files=side_files)
        except Exception:
            if not run.error_logged:
                run.error_logged = True
                folder = run.feed.folder
                logger.exception("Cannot read the telemetry in %s; trying again.", folder)
            return False
        run.error_logged = False
        return changed


def _stamp(path: str) -> object:
    try:
        status = os.stat(path)  # noqa: PTH116 - twenty runs are polled ten times a second
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _notify(subscription: _Subscription, feed: RunFeed) -> None:
    try:
        subscription.callback(feed)
    except Exception:
        if not subscription.error_logged:
            subscription.error_logged = True
            logger.exception(
                "%r failed on an update of %s; it will still be called, without showing further errors.",
                subscription.callback,
                feed.folder,
            )


@cache
def watcher() -> Watcher:
    """Return the process's only watcher."""
    watcher = Watcher()
    atexit.register(watcher.close)  # before the interpreter unloads numpy under a running thread
    return watcher
