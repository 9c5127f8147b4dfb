"""The life cycle of all live panels (attach, refresh while visible, end, settle, close), and their refresh.

One thread, the refresh scheduler's, polls the sources of visible panels (`RefreshScheduler.add_poll`) and
refreshes the panels: soon after a change (`RefreshScheduler.notify`), as often as a panel's visibility
allows, and at least once a second, to update its clock and to notice an end.

Three kinds of threads enter a panel: the refresh scheduler's thread, the threads that handle the page's
updates while a cell runs, and the one that creates the static form. The panel's lock synchronises them. Slow
work does not hold the lock, and none of these threads is the kernel's main thread.
"""

from __future__ import annotations

import atexit
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Protocol

from ipywidgets import Box, Widget

from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page.saved_form import Caption
from mosaic_lab.widgets.page.visibility import Visibility
from mosaic_lab.widgets.page.widget_tree import close_widgets

IDLE_SECONDS = 1.0
"""Maximum interval between two refreshes of a panel."""

logger = logging.getLogger(__name__)
Unsubscribe = Callable[[], None]


class Refreshable(Protocol):
    """An object that the scheduler keeps up to date."""

    def interval(self) -> float:
        """Return the minimum seconds between two drawings; infinite while no view is visible."""

    def refresh(self, *, draw: bool) -> None:
        """Process changes and, if ``draw`` (the interval has passed), update the page."""


class _Schedule:
    def __init__(self) -> None:
        self.notified = True
        self.failed = False
        self.refreshed_at = self.drawn_at = -math.inf

    def due_at(self, interval: float) -> float:
        return self.refreshed_at + (min(interval, IDLE_SECONDS) if self.notified else IDLE_SECONDS)

    def begin(self, now: float, interval: float) -> bool:
        """Record the start of a refresh; return whether it draws."""
        draw = interval < math.inf and now - self.drawn_at >= interval
        self.notified, self.refreshed_at = False, now
        self.drawn_at = now if draw else self.drawn_at
        return draw


class RefreshScheduler:
    """Refreshes panels on its own thread. `refresh_scheduler` returns the process's instance."""

    def __init__(self) -> None:
        self._schedules: dict[Refreshable, _Schedule] = {}
        self._polls: tuple[Callable[[], float], ...] = ()
        self._poll_at = -math.inf
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, panel: Refreshable) -> None:
        """Refresh a panel until it is removed."""
        with self._changed:
            self._schedules.setdefault(panel, _Schedule())
            self._wake()

    def add_poll(self, poll: Callable[[], float]) -> Unsubscribe:
        """Call ``poll`` many times a second, to read new data for a few milliseconds; it returns the seconds
        after which it is due again, and must not raise. Return a function that ends this."""
        with self._changed:
            self._polls = (*self._polls, poll)
            self._wake()

        def remove() -> None:
            with self._changed:
                self._polls = tuple(other for other in self._polls if other is not poll)

        return remove

    def remove(self, panel: Refreshable) -> None:
        """Stop refreshing a panel."""
        with self._changed:
            self._schedules.pop(panel, None)

    def notify(self, panel: Refreshable) -> None:
        """Refresh a panel soon, after a change of its content or visibility."""
        with self._changed:
            schedule = self._schedules.get(panel)
            if schedule is not None and not schedule.notified:
                schedule.notified = True
                self._changed.notify()

    def close(self, timeout: float = 1.0) -> None:
        """Stop the thread permanently, waiting at most ``timeout`` seconds for it."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mosaic-refresh", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        while not self._closed:
            for panel, schedule, draw in self._wait_for_due():
                try:
                    panel.refresh(draw=draw)
                except Exception:
                    if not schedule.failed:
                        schedule.failed = True
                        logger.exception("A panel could not be refreshed; trying again.")
            self._poll()

    def _poll(self) -> None:
        """Poll all sources if that is due. The next poll is not due before as much time has passed as this
        one took, so that the kernel's main thread keeps at least half of the interpreter's time."""
        began = time.monotonic()
        if began >= self._poll_at:
            interval = min((poll() for poll in self._polls), default=0.0)
            seconds = time.monotonic() - began
            self._poll_at = began + max(interval, 2 * seconds)

    def _wait_for_due(self) -> list[tuple[Refreshable, _Schedule, bool]]:
        """Wait until panels or polls are due; return due panels with whether they draw."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                intervals = {panel: panel.interval() for panel in self._schedules}
                waits = {panel: self._schedules[panel].due_at(intervals[panel]) - now for panel in intervals}
                if due := [panel for panel, wait in waits.items() if wait <= 0]:
                    schedules = [(panel, self._schedules[panel]) for panel in due]
                    return [
                        (panel, schedule, schedule.begin(now, intervals[panel]))
                        for panel, schedule in schedules
                    ]
                until_poll = [self._poll_at - now] if self._polls else []
                if any(wait <= 0 for wait in until_poll):
                    break
                self._changed.wait(min([*waits.values(), *until_poll], default=None))
            return []


@cache
def refresh_scheduler() -> RefreshScheduler:
    """Return the refresh scheduler of this process."""
    scheduler = RefreshScheduler()
    atexit.register(scheduler.close)  # before the interpreter unloads numpy under a running thread
    return scheduler


class LivePanel(ABC):
    """A widget, ``box``, that follows a source such as a run until the source ends.

    `start` attaches the panel to its source. The refresh scheduler then calls `refresh`; a panel without
    visible views subscribes to nothing and draws nothing. When the source has ended, ``on_ended`` is called
    once, and its owner calls `settle`. `close` may be called at any time. After a restart of the kernel, a
    new panel is created from the description in the saved output, see `mosaic_lab.widgets.status`.
    """

    title: str
    again: str
    """How to show the panel again after its kernel is gone."""
    box: Box

    def __init__(self) -> None:
        self.visibility = Visibility()
        self.on_ended: Callable[[], None] = lambda: None
        self._lock = threading.RLock()
        self._attached = False
        self._subscriptions: list[Unsubscribe] = []

    # ------------------------------------------------------------------ provided by subclasses

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the source had ended when last read."""

    @property
    def outdated(self) -> bool:
        """Whether the source has continued after the end that the panel still shows."""
        return False

    @abstractmethod
    def read_state(self) -> None:
        """Read the state of the source; called under the lock, at least once a second."""

    @abstractmethod
    def draw(self) -> None:
        """Update all parts; called under the lock. Unchanged state is not sent."""

    @abstractmethod
    def static_caption(self) -> Caption:
        """Return the text and tables for a saved notebook, after the panel has settled."""

    @abstractmethod
    def static_picture(self) -> bytes | None:
        """Return the picture for a saved notebook as PNG; None without data."""

    @abstractmethod
    def show_message(self, level: str, text: str) -> None:
        """Show the user a message of level ``info``, ``warning`` or ``error``."""

    def subscribe(self) -> Iterable[Unsubscribe]:
        """Call `notify` on changes, and return functions that end this. Called whenever the panel becomes
        visible."""
        return ()

    def read_rest(self) -> None:  # noqa: B027  # a panel may have nothing more to read
        """Read the remaining data after the end. May be slow: the lock is not held."""

    @abstractmethod
    def draw_again(self) -> None:
        """Send the last update again for a view that has just appeared."""

    def widgets_beside(self) -> Iterable[Widget]:
        """Return the widgets to close that ``box`` does not contain."""
        return ()

    # ------------------------------------------------------------------ its life

    @property
    def closed(self) -> bool:
        """Whether the widgets were closed."""
        return self.box.comm is None

    def start(self) -> None:
        """Draw the current state, and follow the source until it ends. Further calls have no effect."""
        with self._lock:
            if self._attached:
                return
            self.read_state()
            self.draw()
            if not self.finished:
                self._attached = True
                self._follow(True)
                refresh_scheduler().add(self)

    def interval(self) -> float:
        """Return the minimum seconds between two drawings; infinite while no view is visible."""
        return self.visibility.interval()

    def notify(self) -> None:
        """Refresh the panel soon; may be called on any thread."""
        refresh_scheduler().notify(self)

    def refresh(self, *, draw: bool) -> None:
        """Check for the end and, if ``draw``, draw changes. Runs on the refresh scheduler's thread."""
        with self._lock:
            if not self._attached:
                return
            self._follow(self.visibility.interval() < math.inf)
            self.read_state()
            ended = self.finished
            if draw and not ended:
                self.draw()
        if ended:
            refresh_scheduler().remove(self)
            self.on_ended()

    def settle(self) -> bool:
        """If the source has ended, read and draw the remaining data, stop following, and return True."""
        with self._lock:
            self.read_state()
            if not self.finished:
                return False
        self.read_rest()
        with self._lock:
            self._detach()
            self.draw()
        return True

    def close(self) -> None:
        """Close the widgets: the page shows the static form in their place, and the kernel frees them."""
        with self._lock:
            self._detach()
        close_widgets([self.box, *self.widgets_beside()])

    def _follow(self, on: bool) -> None:
        if on and not self._subscriptions:
            self._subscriptions = list(self.subscribe())
        elif not on:
            for unsubscribe in self._subscriptions:
                unsubscribe()
            self._subscriptions = []

    def _detach(self) -> None:
        self._attached = False
        refresh_scheduler().remove(self)
        self._follow(False)

    # ------------------------------------------------------------------ requests of the page

    def observe(self, widget: Widget, trait: str, action: Callable[[Any], object]) -> None:
        """Call ``action`` with the new value when the page changes a trait; show errors to the user."""
        widget.observe(lambda change: self.attempt(action, change["new"]), names=trait)

    def attempt(self, action: Callable[[Any], object], value: Any) -> None:
        """Call ``action`` with a value; show errors to the user."""
        try:
            action(value)
        except (MosaicError, OSError) as error:
            self.show_message("error", str(error))
        except Exception as error:
            logger.exception("A control of a panel failed.")
            self.show_message("error", f"{type(error).__name__}: {error}")

    def on_presence(self, presence: Iterable[Any]) -> None:
        """Process the page's reports of visible views, see `Visibility.update`."""
        if self.visibility.update(presence):
            self.draw_again()
        self.notify()

    def redraw(self, _: object = None) -> None:
        """Draw now, after the page has changed a setting."""
        with self._lock:
            self.draw()
