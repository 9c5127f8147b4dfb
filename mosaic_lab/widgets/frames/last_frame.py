"""The newest frame of a run, whether or not a page shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.fastlane import FrameSource
from mosaic_lab.fastlane.last_frames import newest
from mosaic_lab.widgets.frames.frame_stream import frame_stream

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame


class LastFrame:
    """The newest frame of the run in ``folder`` sent to a page or seen in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.frame: Frame | None = None
        self.reported = ""
        """The writer's notice about its frames."""
        self.shown = False
        """Whether a page has shown the run."""
        self._source: FrameSource | None = None

    def look(self) -> bool:
        """Read the newest frame seen; return whether it is new."""
        feed = frame_stream().feed(self.folder)
        if feed is not None:
            self.shown, self.reported = True, feed.said
        return self._take_in((feed and feed.frame) or newest(self.folder))

    def poll(self, fps: float) -> bool:
        """Request ``fps`` frames per second, and read the newest; return whether it is new."""
        self._source = self._source or FrameSource(self.folder)
        frame = self._source.poll(fps)
        self.reported = self._source.said
        return self._take_in(frame or self._source.last)

    def rest(self) -> None:
        """Request no frames until the next `poll`."""
        if self._source is not None:
            self._source.rest()

    def close(self) -> None:
        """Release the ring; the frame is kept."""
        if self._source is not None:
            self._source.close()
            self._source = None

    def _take_in(self, frame: Frame | None) -> bool:
        if frame is None or frame is self.frame:
            return False
        self.frame = frame
        return True
