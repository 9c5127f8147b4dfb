"""The kernel's half of the comparison: jupyter_rfb showing a run's frames.

Crosses the boundary: `Rival`, used in a notebook's cell. The page counts the frames drawn and their times.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jupyter_rfb import RemoteFrameBuffer
from mosaic_contract.fastlane import Frame, FrameReader


class Rival(RemoteFrameBuffer):
    """Shows the newest frame of a run, as often as ``fps`` and jupyter_rfb's own flow control allow."""

    def __init__(self, folder: str, fps: float) -> None:
        self.reader = FrameReader(Path(folder))
        self.fps = fps
        self.newest: Frame | None = None
        super().__init__(resizable=False)
        self.loop = asyncio.get_running_loop()
        self.tick()

    def tick(self) -> None:
        self.reader.watch(self.fps)
        self.request_draw()
        self.timer = self.loop.call_later(1 / self.fps, self.tick)

    def get_frame(self) -> np.ndarray | None:
        frame = self.reader.read()
        if frame is None:
            return None
        self.newest = frame
        self.css_width, self.css_height = f"{frame.width}px", f"{frame.height}px"
        return np.frombuffer(frame.pixels, "u1").reshape(frame.height, frame.width, frame.channels)

    def send(self, content: dict[str, Any], buffers: Sequence[bytes] | None = None) -> None:
        if content.get("type") == "framebufferdata" and buffers and self.newest:
            buffers = [buffers[0] + struct.pack("<d", self.newest.published)]  # ignored by decoders
        super().send(content, buffers)

    def handle_event(self, event: object) -> None:
        """Ignore clicks and resizes."""

    def end(self) -> None:
        self.timer.cancel()
        self.close()
        self.reader.close()
