"""The static form of frames, which stays in the saved notebook: the last frames in one picture.

The picture shows the last frames that a page was sent, or else that this kernel saw. It is drawn when the
first frame has come, every 20 seconds while frames move, and when they stop: because no view is in sight, a
viewer paused, or the run has ended. While no page has shown a run, as in a notebook that is executed without
a browser, one frame a second is requested instead. At most 64 pictures follow their runs, those shown last.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_lab.fastlane import last_seen
from mosaic_lab.fastlane.montage import MontageTile, hud_line, montage
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import how_to_show_again, states_text
from mosaic_lab.widgets.frames.last_frame import LastFrame
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.outputs import PanelOutput
from mosaic_lab.widgets.page.refresh import IDLE_SECONDS, refresh_scheduler
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm

MOVING_SECONDS = 20.0
"""From one picture to the next while frames move."""
STILL_SECONDS = 2.0
"""Without a new frame they have stopped …"""
LEAST_SECONDS = 5.0
"""… but a slow environment must not have a picture made of each of its frames."""
UNSEEN_FPS = 1.0
MOST_PICTURES = 64
"""That follow their runs; beyond it those shown first stay as they are."""


class SavedFrames:
    """Follows the last frames of ``runs``, and decides when they are drawn beside the widget.

    ``labels`` name the runs in the picture of several, ``title`` all together; ``columns`` as in `montage`.
    ``shows`` describes the frames to a later kernel (see ``saved_panels``).
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
        self._labels = labels
        self._columns = columns
        self._again = how_to_show_again(runs, alone=len(runs) == 1, call=".frames()")
        self._last = [LastFrame(run.path) for run in runs]
        self._form = SavedForm(
            title,
            self._caption,
            self._picture,
            pictured=f"{title}: last frame",
            on_removed=self.close,
            description=shows,
        )
        self._png: bytes | None = None
        self._moved_at = self._drawn_at = -math.inf
        self._fresh = True
        """The picture shows the last frames."""
        self._settled = False
        self._lock = threading.Lock()

    def show(self, widget: Any, output: PanelOutput | None = None) -> None:
        """Show the widget here, with what there is of a picture; keep that up to date until the runs end.

        ``output``: show it there, where a former kernel has shown it.
        """
        with self._lock:
            self._settled = self._settled or self._ended()
            self._look()  # without a browser this requests the first frame
            if self._settled:
                self._form.update(final=True)
                self._close_sources()
            self._form.show(widget, self._form.add(output), update=output is not None)
            if not self._settled:
                _following[self] = None
                _following.move_to_end(self)
                refresh_scheduler().add(self)
        for old in list(_following)[: max(0, len(_following) - MOST_PICTURES)]:
            in_background(old.close)

    def close(self) -> None:
        """Draw a last time, and follow the runs no longer."""
        with self._lock:
            if self in _following:
                self._look()
                self._leave()

    def settle(self) -> None:
        """If the runs have ended, show their last frames in every output before returning."""
        with self._lock:
            if self not in _following or not self._ended():
                return
            self._look()
            self._settled = True
            self._leave()
            if not any(last.shown for last in self._last):
                self._form.hide_widget(self._form.outputs)

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
                in_background(self.settle)
            elif self._due(time.monotonic()):
                in_background(self._redraw)
        finally:
            self._lock.release()

    def _due(self, now: float) -> bool:
        age, still = now - self._drawn_at, now - self._moved_at
        return not self._fresh and (
            age >= MOVING_SECONDS or (age >= LEAST_SECONDS and still >= STILL_SECONDS)
        )

    def _redraw(self) -> None:
        with self._lock:
            if self in _following:
                self._drawn_at = time.monotonic()
                self._form.update()

    # ------------------------------------------------------------------ under the lock

    def _ended(self) -> bool:
        return not any(run.alive for run in self.runs)  # the worker of a lost run may continue

    def _look(self) -> None:
        for last in self._last:
            moved = last.look()
            if last.shown:
                last.close()
            else:
                moved |= last.poll(UNSEEN_FPS)
            if moved:
                self._moved_at, self._fresh = time.monotonic(), False

    def _leave(self) -> None:
        """Draw a last time, and follow the runs no longer."""
        try:
            self._form.update(final=self._settled)
        finally:
            refresh_scheduler().remove(self)
            _following.pop(self, None)
            self._close_sources()

    def _close_sources(self) -> None:
        for last in self._last:
            last.close()

    def _caption(self) -> Caption:
        frames = [last.frame for last in self._last if last.frame]
        only = frames[0] if len(self._last) == 1 and frames else None
        if not self._settled:
            numbers = hud_line(only.hud) if only else ""
            texts = [numbers, f"still running when this notebook was saved; {self._again}"]
        elif only:
            seen = last_seen(only, self.runs[0].total_timesteps)
            texts = [f"{states_text(self.runs)}; {seen}", hud_line(only.hud._replace(step=None))]
        elif frames:
            texts = [states_text(self.runs)]
        else:
            reasons = (last.reported for last in self._last if last.reported)
            texts = [states_text(self.runs), next(reasons, "no frame was seen")]
        return Caption(" · ".join(filter(None, texts)))

    def _picture(self) -> bytes | None:
        if not self._fresh:
            self._fresh = True  # first: what fails is not tried again at once
            labelled = zip(self._labels, self._last, strict=True)
            tiles = [MontageTile(label, last.frame) for label, last in labelled]
            self._png = montage(tiles, self._columns)
        return self._png


_following: OrderedDict[SavedFrames, None] = OrderedDict()
"""Pictures of live runs, the last shown at the end."""


def settle_frames(run: Run) -> None:
    """Draw the last frames of ``run`` in every picture whose runs have ended."""
    for saved in list(_following):
        if run in saved.runs:
            saved.settle()
