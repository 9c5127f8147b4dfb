"""Frames in a notebook's output, live and as the picture that stays when the kernel is gone.

What crosses this boundary: runs and their widget in, display messages out (see ``outputs`` for how they lie
in a cell). The picture shows the last frames that a page was sent, or else that this kernel saw. It is drawn
when the first frame has come, every 20 seconds while frames move, and when they stop: because nobody looks,
somebody paused, or the run has ended. While no page has shown a run, as in a notebook that is executed
without a browser, one frame a second is asked for instead. At most 64 pictures follow their runs, those shown
last.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from mosaic_lab.fastlane import FrameSource, last_seen
from mosaic_lab.fastlane.last_frames import newest
from mosaic_lab.runs import Run, hooks
from mosaic_lab.widgets.frames.frame_stream import frame_stream
from mosaic_lab.widgets.frames.montage import Tile, hud_line, montage
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.outputs import NOTHING, Bundle, PanelOutput, caption, live, picture
from mosaic_lab.widgets.page.panel_outputs import PanelOutputs
from mosaic_lab.widgets.page.refresh import IDLE_SECONDS, refresh_scheduler
from mosaic_lab.widgets.page.run_labels import how_to_show_again

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

MOVING_SECONDS = 20.0
"""From one picture to the next while frames move."""
STILL_SECONDS = 2.0
"""Without a new frame they have stopped …"""
LEAST_SECONDS = 5.0
"""… but a slow environment must not have a picture made of each of its frames."""
UNSEEN_FPS = 1.0
MOST_PICTURES = 64
"""That follow their runs; beyond it those shown first stay as they are."""

logger = logging.getLogger(__name__)


class _Last:
    """The newest frame of one run that a page was sent, or else that was seen here."""

    def __init__(self, run: Run) -> None:
        self.frame: Frame | None = None
        self.said = ""
        """What the writer said of its frames."""
        self.shown = False
        """A page has shown the run."""
        self._run = run
        self._source: FrameSource | None = None

    def look(self) -> bool:
        """Whether there is a newer one."""
        frame = self._newest()
        if frame is None or frame is self.frame:
            return False
        self.frame = frame
        return True

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def _newest(self) -> Frame | None:
        feed = frame_stream().feed(self._run.path)
        if feed is not None:
            self.shown = True
            self.close()
            self.said = feed.said
            return feed.frame or newest(self._run.path)
        if self.shown:
            return newest(self._run.path)
        if self._source is None:
            self._source = FrameSource(self._run.path)
        frame = self._source.poll(UNSEEN_FPS)
        self.said = self._source.said
        return frame or self._source.last


class SavedPicture:
    """The last frames of ``runs`` beside the widget that shows them live.

    ``labels`` name the runs in the picture of several, ``title`` all together; ``columns`` as in `sheet`.
    ``shows`` is what a later kernel makes it of (see ``reattaching``).
    """

    def __init__(
        self,
        runs: Sequence[Run],
        title: str,
        labels: Sequence[str],
        columns: int | None = None,
        shows: Mapping[str, Any] | None = None,
    ) -> None:
        self.runs = runs
        self.title = title
        self._labels = labels
        self._columns = columns
        self._again = how_to_show_again(runs, alone=len(runs) == 1, call=".frames()")
        self._last = [_Last(run) for run in runs]
        self._outputs = PanelOutputs(self, shows)
        self._png: bytes | None = None
        self._moved_at = self._drawn_at = -math.inf
        self._fresh = True
        """The picture shows the last frames."""
        self._settled = False
        self._failed = False
        self._lock = threading.Lock()

    def show(self, widget: Any, output: PanelOutput | None = None) -> None:
        """Show the widget here, with what there is of a picture; keep that up to date until the runs end.

        ``output``: show it there, where a former kernel has shown it.
        """
        with self._lock:
            if settle not in hooks.ended:
                hooks.ended.append(settle)
            self._settled = self._settled or self._ended()
            self._look()  # without a browser this asks for the first frame
            if self._settled:
                self.attempt(self._render)
                self._let_go()
            self._outputs.show(
                self._outputs.add(output),
                live(widget, self.title),
                self._caption(),
                self._picture(),
                ended=self._settled,
                update=output is not None,
            )
            if not self._settled:
                _following[self] = None
                _following.move_to_end(self)
                refresh_scheduler().add(self)
        for old in list(_following)[: max(0, len(_following) - MOST_PICTURES)]:
            old._draw_in_background(old.close)

    def close(self) -> None:
        """Draw a last time, and follow the runs no longer."""
        with self._lock:
            if self in _following:
                self._look()
                self._leave()

    def settle(self) -> None:
        """If the runs have ended, show their last frames everywhere before returning."""
        with self._lock:
            if self not in _following or not self._ended():
                return
            self._look()
            self._settled = True
            self._leave()
            if not any(last.shown for last in self._last):
                self._outputs.update(live=NOTHING)

    def publish_again(self) -> None:
        """Display the picture once more, everywhere."""
        with self._lock:
            self._outputs.update(caption=self._caption(), picture=self._picture(), ended=self._settled)

    def on_outputs_gone(self) -> None:
        """No output shows the frames any more: follow the runs no longer."""
        self.close()

    def attempt(self, action: Callable[[], None]) -> None:
        """Do it. A picture that cannot be drawn must not cost the user anything else: it is said once."""
        try:
            action()
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("The last frames could not be made into a picture.")

    # ------------------------------------------------------------------ on the refresh scheduler's thread

    def interval(self) -> float:
        return IDLE_SECONDS

    def refresh(self, *, draw: bool) -> None:
        """Take in the newest frames; have what is due drawn in the background."""
        if not self._lock.acquire(blocking=False):
            return  # it is being drawn
        try:
            if self not in _following:
                return
            self._look()
            if self._ended():
                self._draw_in_background(self.settle)
            elif self._due(time.monotonic()):
                self._draw_in_background(self._redraw)
        finally:
            self._lock.release()

    def _due(self, now: float) -> bool:
        age, still = now - self._drawn_at, now - self._moved_at
        return not self._fresh and (
            age >= MOVING_SECONDS or (age >= LEAST_SECONDS and still >= STILL_SECONDS)
        )

    def _draw_in_background(self, action: Callable[[], None]) -> None:
        in_background(partial(self.attempt, action))

    def _redraw(self) -> None:
        with self._lock:
            if self in _following:
                self._draw()

    # ------------------------------------------------------------------ under the lock

    def _ended(self) -> bool:
        return not any(run.alive for run in self.runs)  # the worker of a lost run may go on

    def _look(self) -> None:
        moved = [last.look() for last in self._last]
        if any(moved):
            self._moved_at, self._fresh = time.monotonic(), False

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        self._outputs.update(caption=self._caption(), ended=self._settled)
        self._render()
        self._outputs.update(picture=self._picture())

    def _render(self) -> None:
        if self._fresh:
            return
        self._fresh = True  # first: what fails is not tried again at once
        tiles = [Tile(label, last.frame) for label, last in zip(self._labels, self._last, strict=True)]
        self._png = montage(tiles, self._columns)

    def _leave(self) -> None:
        """Draw a last time, and follow the runs no longer."""
        try:
            self._draw()
        finally:
            refresh_scheduler().remove(self)
            _following.pop(self, None)
            self._let_go()

    def _let_go(self) -> None:
        for last in self._last:
            last.close()

    def _caption(self) -> Bundle:
        frames = [last.frame for last in self._last if last.frame]
        only = frames[0] if len(self._last) == 1 and frames else None
        if self._settled:
            said = [self._states()]
            if only:
                total = self.runs[0].total_timesteps
                said = [f"{said[0]}; {last_seen(only, total)}", hud_line(only.hud._replace(step=None))]
            elif not frames:
                said.append(next((last.said for last in self._last if last.said), "no frame was seen"))
        else:
            said = [hud_line(only.hud)] if only else []
            said.append(f"still running when this notebook was saved; {self._again}")
        text = " · ".join(filter(None, said))
        return caption(self.title, f" · {escape(text)}", f"{self.title}: {text}")

    def _picture(self) -> Bundle:
        return picture(self._png, f"{self.title}: last frame")

    def _states(self) -> str:
        states = Counter(str(run.state) for run in self.runs)
        if len(self.runs) == 1:
            return next(iter(states))
        return ", ".join(f"{count} {state}" for state, count in states.items())


_following: OrderedDict[SavedPicture, None] = OrderedDict()
"""Pictures whose runs go on, those shown last at the end."""


def settle(run: Run) -> None:
    """Draw the last frames of ``run`` in every picture whose runs have ended."""
    for saved in list(_following):
        if run in saved.runs:
            saved.attempt(saved.settle)
