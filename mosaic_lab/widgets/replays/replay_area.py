"""The part of a panel that replays an episode after a click on its row or its point in a plot."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ipywidgets import VBox

from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.replays.replaying import Progress
from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page.widget_tree import close_widgets
from mosaic_lab.widgets.replays.replay_player import PanelOf, ReplayView

Say = Callable[[str, str], None]
"""Shows a message of a level ("info", "error") to the user; an empty text removes it."""
Make = Callable[[Callable[[str], None], Progress], Replay | Replays]
"""Makes a replay; called with functions that report a line of an installation and the steps played."""

_EVERY_SECONDS = 0.5  # between two reports

logger = logging.getLogger(__name__)


class ReplayArea:
    """The latest requested replay, in ``box``, with the panel of a comparison that continues it. ``say``
    shows its progress and its failure."""

    def __init__(self, say: Say, panel_of: PanelOf) -> None:
        self._panel_of = panel_of
        self.box = VBox([])
        self._say = say
        self._lock = threading.Lock()
        self._newest = 0
        self._view: ReplayView | None = None

    def request(self, name: str, make: Make, first_step: int = 0) -> None:
        """Make a replay in the background and show it from ``first_step`` on, replacing one in progress.
        ``name`` names the episode in messages."""
        self._newest += 1
        self._say("info", f"Replaying {name} …")
        threading.Thread(
            target=self._make, args=(self._newest, name, make, first_step), name="mosaic-replay", daemon=True
        ).start()

    def close(self) -> None:
        """Close the player, and show no other."""
        self._newest += 1
        self._close_view()
        close_widgets([self.box])

    def _make(self, number: int, name: str, make: Make, first_step: int) -> None:
        next_report = time.monotonic() + _EVERY_SECONDS

        def install(line: str) -> None:
            self._check_newest(number)
            self._say("info", line)

        def progress(done: int, total: int) -> None:
            nonlocal next_report
            self._check_newest(number)
            if (now := time.monotonic()) >= next_report:
                next_report = now + _EVERY_SECONDS
                self._say("info", f"Replaying {name}: step {done:,} of {total:,}")

        try:
            with self._lock:  # one at a time
                self._check_newest(number)
                replay = make(install, progress)
                self._check_newest(number)
                self._show(replay, first_step)
            self._say("info", "")
        except _Superseded:
            pass
        except MosaicError as error:
            self._say("error", str(error))
        except Exception as error:
            logger.exception("%s could not be replayed.", name)
            self._say("error", f"{name} could not be replayed: {type(error).__name__}: {error}")

    def _check_newest(self, number: int) -> None:
        if number != self._newest:
            raise _Superseded

    def _show(self, replay: Replay | Replays, first_step: int) -> None:
        view = ReplayView(replay, self._panel_of)
        view.player.at = first_step
        self._close_view()
        self._view = view
        self.box.children = [view.box]

    def _close_view(self) -> None:
        if self._view is not None:
            self._view.close()


class _Superseded(Exception):
    """Another replay has been requested, or the panel was closed."""
