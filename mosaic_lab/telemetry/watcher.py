"""One thread that keeps the live models of all watched runs up to date.

What crosses this boundary: feeds and callbacks in; callbacks are called with their feed, on the watcher's
thread, after something changed. A callback must be quick: the others wait for it.

Every round polls each feed once, and a poll reads a bounded amount, so a run with a million lines to catch up
on delays the others by milliseconds. The thread rests at least as long as it worked, so the kernel's main
thread keeps at least half of the interpreter. Without subscriptions it sleeps. It never holds up the
interpreter's exit for more than a second.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from weakref import WeakValueDictionary

from mosaic_lab.telemetry.feed import RunFeed

INTERVAL_SECONDS = 0.1
"""From one look at the files to the next."""

logger = logging.getLogger(__name__)

Callback = Callable[[RunFeed], None]


class _Subscription:
    def __init__(self, feed: RunFeed, callback: Callback) -> None:
        self.feed = feed
        self.callback = callback
        self.due = True  # a new subscriber is told what is known already
        self.told_at = float("-inf")
        self.reported = False


class Watcher:
    """Polls the feeds that someone subscribed to and tells the subscribers. One per process is enough:
    `watcher()`.
    """

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._subscriptions: list[_Subscription] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._feeds: WeakValueDictionary[Path, RunFeed] = WeakValueDictionary()
        self._unreadable: set[RunFeed] = set()
        self._closed = False

    def feed(self, folder: Path | str) -> RunFeed:
        """The feed of a run folder; the same one for everybody who looks at that run at the moment."""
        path = Path(folder).resolve()
        with self._lock:
            feed = self._feeds.get(path)
            if feed is None:
                feed = self._feeds[path] = RunFeed(path)
            return feed

    def subscribe(self, feed: RunFeed, callback: Callback) -> Callable[[], None]:
        """Have ``callback(feed)`` called soon, and again after every change. Returns what ends the
        subscription.

        An exception in a callback is logged once, and neither ends its subscription nor touches the others.
        """
        subscription = _Subscription(feed, callback)
        with self._lock:
            self._subscriptions = [*self._subscriptions, subscription]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mosaic-watcher", daemon=True)
                self._thread.start()
        self._wake.set()
        return partial(self._unsubscribe, subscription)

    def close(self, timeout: float = 1.0) -> None:
        """End the thread for good, waiting at most ``timeout`` seconds for a callback that is under way."""
        self._closed = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _unsubscribe(self, subscription: _Subscription) -> None:
        with self._lock:
            self._subscriptions = [one for one in self._subscriptions if one is not subscription]
            self._unreadable &= {one.feed for one in self._subscriptions}

    def _run(self) -> None:
        while not self._closed:
            if not self._subscriptions:
                self._wake.wait()
            self._wake.clear()
            started = time.monotonic()
            behind = self._round()
            worked = time.monotonic() - started
            self._wake.wait(max(worked, 0.001 if behind else self._interval - worked))

    def _round(self) -> bool:
        """Poll every feed once and tell who is due; true if a feed has more to read at once."""
        subscriptions = self._subscriptions
        feeds = {one.feed for one in subscriptions}
        changed = {feed for feed in feeds if self._poll(feed)}
        for one in subscriptions:
            one.due = one.due or one.feed in changed
            # While a long run is caught up on, rounds follow closely; twice the pace is enough for its
            # audience.
            if one.due and time.monotonic() - one.told_at > self._interval / 2:
                self._tell(one)
        return any(feed.behind for feed in feeds)

    def _poll(self, feed: RunFeed) -> bool:
        try:
            changed = feed.poll()
        except Exception:
            if feed not in self._unreadable:
                self._unreadable.add(feed)
                logger.exception(
                    "Cannot read the telemetry in %s; it is tried again all the time.", feed.folder
                )
            return False
        self._unreadable.discard(feed)
        return changed

    def _tell(self, one: _Subscription) -> None:
        one.due = False
        one.told_at = time.monotonic()
        try:
            one.callback(one.feed)
        except Exception:
            if not one.reported:
                one.reported = True
                logger.exception(
                    "%r failed on news of %s; it is still called, further errors are not shown.",
                    one.callback,
                    one.feed.folder,
                )


@cache
def watcher() -> Watcher:
    """The process's one watcher."""
    one = Watcher()
    atexit.register(one.close)  # before the interpreter takes numpy apart under a running thread
    return one
