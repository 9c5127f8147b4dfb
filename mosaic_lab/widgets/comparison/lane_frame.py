"""The newest frame of a lane, whether or not a browser shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.fastlane import FrameSource
from mosaic_lab.fastlane.last_frames import forget
from mosaic_lab.widgets.frames.frame_stream import frame_stream

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

UNSEEN_FPS = 5.0
"""Frames a second that are requested while no view shows the lane."""
ENDED = ("failed", "stopped")
"""States of a lane after which no frame comes."""


class LaneFrame:
    """The newest frame of one lane. Once the lane has ended only the frame is kept, and no ring is open."""

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self._folder = ""
        self._source: FrameSource | None = None

    def look(self, lane: Mapping[str, Any]) -> None:
        """Take in the newest frame of a lane of `Comparison.view`."""
        folder = lane["folder"]
        if folder != self._folder:  # it was restarted
            self.close()
            self._folder = folder
        if not folder:
            return
        feed = frame_stream().feed(Path(folder))
        if feed is not None:
            self.frame = feed.frame or self.frame
        if self.shows_last_step(lane):
            if lane["state"] in ENDED:
                self.close()
            elif self._source is not None:
                self._source.rest()
            return
        if self._source is None:  # no view shows the lane
            self._source = FrameSource(Path(folder))
        self.frame = self._source.poll(UNSEEN_FPS) or self.frame

    def shows_last_step(self, lane: Mapping[str, Any]) -> bool:
        """Return whether the frame is of the lane's last step."""
        hud = self.frame.hud if self.frame else None
        return hud is not None and (hud.episode, hud.step) == (lane["episode"], lane["step"])

    def complete(self, lane: Mapping[str, Any]) -> bool:
        """Return whether no newer frame is to be expected before the lane's next step."""
        return self.shows_last_step(lane) or not lane["renders"] or lane["state"] in (*ENDED, "stepping")

    def close(self) -> None:
        """Release the ring."""
        if self._source is not None:
            self._source.close()
            self._source = None
        if self._folder:
            forget(Path(self._folder))
