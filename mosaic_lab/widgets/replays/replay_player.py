"""The player of replays in a notebook cell, and the comparison that begins at one of its steps."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets as t
from ipywidgets import VBox

from mosaic_lab.arenas import Comparison, compare
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.errors import MosaicError
from mosaic_lab.runs.run_names import latest_root
from mosaic_lab.widgets.page.live_panel import LivePanel
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell
from mosaic_lab.widgets.replays.page_replay import page_replay, replay_film

MAX_REPLAYS = 8
"""Maximum number of replays side by side in a player."""

logger = logging.getLogger(__name__)


class ReplayPlayer(anywidget.AnyWidget):
    """Replays side by side, at the same step ``at``. The page plays them without the kernel.

    ``films`` are MP4 films of the replays' pictures. ``first_difference`` is the first step in which they
    differ, None if there is none.
    """

    _esm = page_code("replay.js")
    _css = page_code("replay.css")

    title = t.Unicode().tag(sync=True)
    replays: t.List[Any] = t.List(t.Dict()).tag(sync=True)
    films: t.List[bytes] = t.List(t.Bytes()).tag(sync=True)
    first_difference = t.Int(None, allow_none=True).tag(sync=True)
    at = t.Int(0, help="steps played so far").tag(sync=True)
    speed = t.Float(10.0, help="steps per second").tag(sync=True)
    continued: t.Dict[str, Any] = t.Dict(
        help="the page's latest request of a comparison from here on: the replay's place, and the step"
    ).tag(sync=True)
    notice: t.List[str] = t.List(["info", ""], help="level and text").tag(sync=True)

    @classmethod
    def of(cls, shown: Replay | Replays) -> ReplayPlayer:
        """Return the player of one replay or of several."""
        replays = _as_list(shown)
        return cls(
            title=_title(replays),
            replays=[page_replay(replay) for replay in replays],
            films=[replay_film(replay) for replay in replays],
            first_difference=shown.first_difference if isinstance(shown, Replays) else None,
        )


PanelOf = Callable[[Comparison], LivePanel]
"""Returns the panel of a comparison that a page is about to show."""


class ReplayView:
    """A player and, below it in ``box``, the comparison that begins at one of its steps, in the panel made by
    ``panel_of``."""

    def __init__(self, source: Replay | Replays, panel_of: PanelOf) -> None:
        self._panel_of = panel_of
        self.replays = _as_list(source)
        self.player = ReplayPlayer.of(source)
        self.player.observe(lambda change: self._continue(change["new"]), "continued")
        self.box = VBox([self.player])
        self._lock = threading.Lock()
        self._continuation: tuple[Comparison, LivePanel] | None = None
        self._closed = False
        widgets_stay_on_subshell(self.box)

    def close(self) -> None:
        """Close the widgets, and end the comparison."""
        self._closed = True
        with self._lock:
            self._end()
        close_widgets([self.box])

    def _continue(self, request: Mapping[str, Any]) -> None:
        threading.Thread(target=self._try, args=(request,), name="mosaic-continue", daemon=True).start()

    def _try(self, request: Mapping[str, Any]) -> None:
        try:
            with self._lock:
                self._open(self.replays[request["replay"]], request["step"])
        except MosaicError as error:
            self._say("error", str(error))
        except Exception as error:
            logger.exception("A comparison could not be opened.")
            self._say("error", f"{type(error).__name__}: {error}")

    def _open(self, replay: Replay, step: int) -> None:
        """Open a comparison that begins at a step, in place of an earlier one."""
        if self._closed:
            return
        self._say("info", f"Opening a comparison that begins at step {step:,} …")
        self._end()
        root = latest_root() or Path("mosaic_runs")
        comparison = compare(root, replay.continued(step), lambda line: self._say("info", line))
        panel = self._panel_of(comparison)
        self._continuation = comparison, panel
        self.box.children = [self.player, panel.box]
        self._say("info", f"The comparison below begins at step {step:,} of {replay.operator}.")

    def _end(self) -> None:
        """End the comparison and remove its panel."""
        if self._continuation is None:
            return
        (comparison, panel), self._continuation = self._continuation, None
        self.box.children = [self.player]
        comparison.stop(timeout=0)
        panel.close()

    def _say(self, level: str, text: str) -> None:
        self.player.notice = [level, text]


def _as_list(replays: Replay | Replays) -> list[Replay]:
    return list(replays)[:MAX_REPLAYS] if isinstance(replays, Replays) else [replays]


def _title(replays: Sequence[Replay]) -> str:
    if len(replays) == 1:
        return replays[0].title
    seeds = ", ".join(dict.fromkeys(str(replay.seed) for replay in replays))
    return f"{', '.join(replay.operator for replay in replays)}, seed {seeds} in {replays[0].environment}"
