"""The static form of frames in a saved notebook: the last frames in one picture.

The picture shows the last frames sent to a page or, if there are none, seen by this kernel. It is drawn when
the first frame arrives, every 20 seconds while frames change, and when they stop because no view is visible,
a viewer paused or the run ended. While no page has shown a run, as in a notebook executed without a browser,
one frame per second is requested. Only the 64 pictures shown last follow their runs.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.fastlane import FrameSource, last_seen
from mosaic_lab.fastlane.montage import MontageTile, hud_line, montage
from mosaic_lab.fastlane.source import newest
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import how_to_show_again, states_text
from mosaic_lab.widgets.frames.frame_stream import frame_stream
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.live_panel import IDLE_SECONDS, refresh_scheduler
from mosaic_lab.widgets.page.saved_form import Caption, PanelOutput, SavedForm

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

MOVING_SECONDS = 20.0
"""Interval between pictures while frames change."""
STILL_SECONDS = 2.0
"""Seconds without a new frame after which frames count as stopped …"""
MIN_SECONDS = 5.0
"""… but a slow environment must not cause a picture for each of its frames."""
UNSEEN_FPS = 1.0
MAX_PICTURES = 64
"""Maximum number of pictures that follow their runs; beyond it, those shown first are no longer updated."""


class LastFrame:
    """The newest frame of the run in ``folder`` sent to a page or seen in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.frame: Frame | None = None
        self.reported = ""
        """The writer's notice about its frames."""
        self.on_page = False
        """Whether a page has shown the run."""
        self._source: FrameSource | None = None

    def read_newest(self) -> bool:
        """Read the newest frame seen; return whether it is new."""
        feed = frame_stream().feed(self.folder)
        if feed is not None:
            self.on_page, self.reported = True, feed.writer_notice
        return self._update((feed and feed.frame) or newest(self.folder))

    def poll(self, fps: float) -> bool:
        """Request ``fps`` frames per second, and read the newest; return whether it is new."""
        self._source = self._source or FrameSource(self.folder)
        frame = self._source.poll(fps)
        self.reported = self._source.writer_notice
        return self._update(frame or self._source.last)

    def pause(self) -> None:
        """Request no frames until the next `poll`."""
        if self._source is not None:
            self._source.pause()

    def close(self) -> None:
        """Release the ring; the frame is kept."""
        if self._source is not None:
            self._source.close()
            self._source = None

    def _update(self, frame: Frame | None) -> bool:
        if frame is None or frame is self.frame:
            return False
        self.frame = frame
        return True


class SavedFrames:
    """Follows the last frames of ``runs``, and decides when to draw them beside the widget.

    ``labels`` name the runs in a picture of several, ``title`` the whole picture; ``columns`` as in
    `montage`. ``shows`` describes the frames to a later kernel (see `describe_panel`).
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
        self._show_again_text = how_to_show_again(runs, alone=len(runs) == 1, call=".frames()")
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
        self._is_current = True
        """Whether the picture shows the last frames."""
        self._settled = False
        self._lock = threading.Lock()

    def show(self, widget: Any, output: PanelOutput | None = None) -> None:
        """Show the widget in the running cell with the current picture; keep the picture up to date until the
        runs end.

        ``output``: an output of a former kernel to reuse.
        """
        with self._lock:
            self._settled = self._settled or self._ended()
            self._read_frames()  # without a browser, this requests the first frame
            if self._settled:
                self._form.update(final=True)
                self._close_sources()
            self._form.show(widget, self._form.add(output), update=output is not None)
            if not self._settled:
                _following[self] = None
                _following.move_to_end(self)
                refresh_scheduler().add(self)
        for old in list(_following)[: max(0, len(_following) - MAX_PICTURES)]:
            in_background(old.close)

    def close(self) -> None:
        """Draw a last time, and stop following the runs."""
        with self._lock:
            if self in _following:
                self._read_frames()
                self._leave()

    def settle(self) -> None:
        """If the runs have ended, publish their last frames in every output before returning."""
        with self._lock:
            if self not in _following or not self._ended():
                return
            self._read_frames()
            self._settled = True
            self._leave()
            if not any(last.on_page for last in self._last):
                self._form.hide_widget(self._form.outputs)

    # ------------------------------------------------------------------ on the refresh scheduler's thread

    def interval(self) -> float:
        return IDLE_SECONDS

    def refresh(self, *, draw: bool) -> None:
        """Read the newest frames; draw in the background if due."""
        if not self._lock.acquire(blocking=False):
            return  # already being drawn
        try:
            if self not in _following:
                return
            self._read_frames()
            if self._ended():
                in_background(self.settle)
            elif self._is_due(time.monotonic()):
                in_background(self._redraw)
        finally:
            self._lock.release()

    def _is_due(self, now: float) -> bool:
        age, still = now - self._drawn_at, now - self._moved_at
        return not self._is_current and (
            age >= MOVING_SECONDS or (age >= MIN_SECONDS and still >= STILL_SECONDS)
        )

    def _redraw(self) -> None:
        with self._lock:
            if self in _following:
                self._drawn_at = time.monotonic()
                self._form.update()

    # ------------------------------------------------------------------ under the lock

    def _ended(self) -> bool:
        return not any(run.alive for run in self.runs)  # the worker of a lost run may still be running

    def _read_frames(self) -> None:
        for last in self._last:
            moved = last.read_newest()
            if last.on_page:
                last.close()
            else:
                moved |= last.poll(UNSEEN_FPS)
            if moved:
                self._moved_at, self._is_current = time.monotonic(), False

    def _leave(self) -> None:
        """Draw a last time, and stop following the runs."""
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
            texts = [numbers, f"still running when this notebook was saved; {self._show_again_text}"]
        elif only:
            last_frame_text = last_seen(only, self.runs[0].total_timesteps)
            texts = [f"{states_text(self.runs)}; {last_frame_text}", hud_line(only.hud._replace(step=None))]
        elif frames:
            texts = [states_text(self.runs)]
        else:
            reasons = (last.reported for last in self._last if last.reported)
            texts = [states_text(self.runs), next(reasons, "no frame was seen")]
        return Caption(" · ".join(filter(None, texts)))

    def _picture(self) -> bytes | None:
        if not self._is_current:
            self._is_current = True  # first, so that a failure is not retried at once
            labelled = zip(self._labels, self._last, strict=True)
            tiles = [MontageTile(label, last.frame) for label, last in labelled]
            self._png = montage(tiles, self._columns)
        return self._png


_following: OrderedDict[SavedFrames, None] = OrderedDict()
"""Pictures of live runs, in the order in which they were shown."""


def settle_frames(run: Run) -> None:
    """Draw the last frames of ``run`` in every picture whose runs have ended."""
    for saved in list(_following):
        if run in saved.runs:
            saved.settle()
