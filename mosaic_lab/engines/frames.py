"""Frames of a run on a node. While they are watched, they are published in a local ring, like those of any
run."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from mosaic_contract.errors import FastlaneError, FrameError
from mosaic_contract.fastlane import FrameReader, FrameWriter

from mosaic_lab.engines.engine import NodeFrame

MAX_FPS = 10.0
"""Maximum frames fetched per second."""
_IDLE = 1.0  # seconds between checks for viewers
_WATCHED = 2.0  # seconds of frequent checks after a frame was requested
_NO_FRAMES = "its worker on the node publishes no frames so far"


class NodeFrames:
    """The frames of the run in ``folder`` on its node. Each call of `newest` keeps them coming for 2 s."""

    def __init__(self, folder: Path) -> None:
        self._reader = FrameReader(folder)

    def newest(self, fps: float) -> NodeFrame:
        """Request ``fps`` frames per second. Return the newest frame unless it has been returned before."""
        self._reader.enable()
        self._reader.watch(fps)
        frame, state = self._reader.read(), self._reader.state
        if frame is not None:
            frame = frame._replace(pixels=zlib.compress(frame.pixels, 1))
        return NodeFrame(frame, _NO_FRAMES if state == "absent" else self._reader.notice, state == "ended")


async def mirror_frames(
    fetch: Callable[[float], Awaitable[NodeFrame | None]], folder: Path, enabled: bool
) -> None:
    """Publish the results of ``fetch(fps)`` in the run folder while they are watched, until cancelled."""
    writer = FrameWriter(folder, max_fps=MAX_FPS, share=1.0, enabled=enabled)
    watched, last_notice = 0.0, ""
    try:
        while writer.ended is None:
            if writer.due():
                watched = time.monotonic()
                if (fetched := await fetch(MAX_FPS)) is not None:
                    if fetched.notice != last_notice:
                        last_notice = fetched.notice
                        writer.notice(last_notice)
                    if (frame := fetched.frame) is not None:
                        with suppress(FrameError, FastlaneError, zlib.error):
                            writer.publish(zlib.decompress(frame.pixels), frame.hud, frame.shape)
                    elif fetched.ended:
                        writer.end(fetched.notice)
            recent = time.monotonic() - watched < _WATCHED
            await asyncio.sleep(0.5 / MAX_FPS if recent else _IDLE)
        await asyncio.Event().wait()
    finally:
        writer.close()
