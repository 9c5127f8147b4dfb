"""The life cycle that all live panels share: attach, refresh while visible, end, settle, close.

Three kinds of threads enter a panel: the refresh scheduler's, those that handle the page's updates while a
cell runs, and the one that has the static form made. The panel's lock orders them; nothing slow happens under
it, and none of them is the kernel's main thread.
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
    """A widget, ``box``, that shows something as it changes, until that ends.

    `start` attaches the panel to what it follows. The refresh scheduler then calls `refresh`: a panel that no
    view shows subscribes to nothing and draws nothing. When what it follows has ended, ``on_ended`` is called
    once, and whoever set it has the panel `settle`; `close` takes the widgets back at any time. After a
    restart of the kernel a new panel is made of the description in the saved output, see
    `mosaic_lab.widgets.status`.
    """

    title: str
    again: str
    """How to show the panel again when its kernel is gone."""
    box: Box

    def __init__(self) -> None:
        self.visibility = Visibility()
        self.on_ended: Callable[[], None] = lambda: None
        self._lock = threading.RLock()
        self._attached = False
        self._subscriptions: list[Unsubscribe] = []

    # ------------------------------------------------------------------ what a kind of panel provides

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether what it follows had ended when last looked at."""

    @property
    def outdated(self) -> bool:
        """Whether what it follows has gone on since the panel has seen its end: that is what it shows."""
        return False

    @abstractmethod
    def look(self) -> None:
        """Read the state of what it follows; called under the lock, at least once a second."""

    @abstractmethod
    def draw(self) -> None:
        """Bring every part up to date, under the lock; what has not changed is not sent."""

    @abstractmethod
    def static_caption(self) -> Caption:
        """Return the text and tables that stay in a saved notebook once it has settled."""

    @abstractmethod
    def static_picture(self) -> bytes | None:
        """Return the picture, as PNG, that stays in a saved notebook; None without data."""

    @abstractmethod
    def show_message(self, level: str, text: str) -> None:
        """Show the user a message, of level ``info``, ``warning`` or ``error``."""

    def subscribe(self) -> Iterable[Unsubscribe]:
        """Have `notify` called upon changes, and return what ends that. Called whenever it gets visible."""
        return ()

    def read_rest(self) -> None:  # noqa: B027  # a panel may have nothing more to read
        """Read what remains to be read after the end. It may take a while: the lock is free."""

    @abstractmethod
    def draw_again(self) -> None:
        """Send once more what a view that has just appeared may have missed."""

    def widgets_beside(self) -> Iterable[Widget]:
        """Return the widgets to close that ``box`` does not contain."""
        return ()

    # ------------------------------------------------------------------ its life

    @property
    def closed(self) -> bool:
        """Whether the widgets were taken back."""
        return self.box.comm is None

    def start(self) -> None:
        """Draw what there is, and follow it until it ends. Starting again changes nothing."""
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
        """Return the seconds from one drawing to the next, at least; infinite while out of sight."""
        return self.visibility.interval()

    def notify(self) -> None:
        """Have the panel refreshed soon; may be called on any thread."""
        refresh_scheduler().notify(self)

    def refresh(self, *, draw: bool) -> None:
        """Notice an end, and ``draw`` what changed. On the refresh scheduler's thread."""
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
        """If it has ended: read and draw what remains, follow no longer, and return True."""
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
        """Take the widgets back: the page shows the static form in their place, the kernel forgets them."""
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

    # ------------------------------------------------------------------ what the page requests

    def observe(self, widget: Widget, trait: str, action: Callable[[Any], object]) -> None:
        """Call ``action`` with the new value when the page changes a trait; show the user its errors."""
        widget.observe(lambda change: self.attempt(action, change["new"]), names=trait)

    def attempt(self, action: Callable[[Any], object], value: Any) -> None:
        """Call ``action`` with a value; show the user its errors."""
        try:
            action(value)
        except (MosaicError, OSError) as error:
            self.show_message("error", str(error))
        except Exception as error:
            logger.exception("A control of a panel failed.")
            self.show_message("error", f"{type(error).__name__}: {error}")

    def on_presence(self, presence: Iterable[Any]) -> None:
        """Take in which views the page reports to be in sight, see `Visibility.update`."""
        if self.visibility.update(presence):
            self.draw_again()
        self.notify()

    def redraw(self, _: object = None) -> None:
        """Draw now: the page has changed what is shown."""
        with self._lock:
            self.draw()
