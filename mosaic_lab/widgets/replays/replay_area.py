"""The part of a panel in which an episode is replayed after a click on its row."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ipywidgets import VBox

from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell

Say = Callable[[str, str], None]
"""Shows a message of a level ("info", "error") to the user; an empty text removes it."""
Make = Callable[[Callable[[str], None], Callable[[int], None]], Replay | Replays]
"""Makes a replay. It is called with functions that report an installation's line and the steps played."""

_EVERY = 50  # steps between two reports

logger = logging.getLogger(__name__)


class ReplayArea:
    """The newest requested replay, in ``box``. ``say`` shows its progress and its failure."""

    def __init__(self, say: Say) -> None:
        self.box = VBox([])
        self._say = say
        self._thread: threading.Thread | None = None
        self._closed = False

    def request(self, name: str, make: Make) -> None:
        """Make a replay in the background and show it. ``name`` names the episode in messages."""
        if self._thread is not None and self._thread.is_alive():
            self._say("info", "An episode is being replayed: the next one can be chosen after it.")
            return
        self._say("info", f"Replaying {name} …")
        self._thread = threading.Thread(
            target=self._make, args=(name, make), name="mosaic-replay", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close the player, and show no other."""
        self._closed = True
        close_widgets(self.box.children)

    def _make(self, name: str, make: Make) -> None:
        def progress(steps: int) -> None:
            if steps % _EVERY == 0:
                self._say("info", f"Replaying {name}: step {steps:,}")

        try:
            self._show(make(lambda line: self._say("info", line), progress))
        except MosaicError as error:
            self._say("error", str(error))
        except Exception as error:
            logger.exception("%s could not be replayed.", name)
            self._say("error", f"{name} could not be replayed: {type(error).__name__}: {error}")

    def _show(self, replay: Replay | Replays) -> None:
        from mosaic_lab.widgets.replays.replay_player import ReplayPlayer

        if self._closed:
            return
        player = ReplayPlayer.of(replay)
        widgets_stay_on_subshell(player)
        former, self.box.children = self.box.children, [player]
        close_widgets(former)
        self._say("info", "")
