"""The life cycle shared by all live panels: attach, refresh while visible, end, settle, close.

Three kinds of threads enter a panel: the refresh scheduler's thread, the threads that handle the page's
updates while a cell runs, and the one that creates the static form. The panel's lock synchronises them. Slow
work does not hold the lock, and none of these threads is the kernel's main thread.
"""

from __future__ import annotations

import logging
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ipywidgets import Box, Widget

from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page.refresh import refresh_scheduler
from mosaic_lab.widgets.page.saved_form import Caption
from mosaic_lab.widgets.page.visibility import Visibility
from mosaic_lab.widgets.page.widget_tree import close_widgets

Unsubscribe = Callable[[], None]

logger = logging.getLogger(__name__)


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
    def look(self) -> None:
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
            self.look()
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
            self.look()
            ended = self.finished
            if draw and not ended:
                self.draw()
        if ended:
            refresh_scheduler().remove(self)
            self.on_ended()

    def settle(self) -> bool:
        """If the source has ended, read and draw the remaining data, stop following, and return True."""
        with self._lock:
            self.look()
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
