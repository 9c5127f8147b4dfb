"""Frames of a node are mirrored to this machine only while a viewer watches, with the worker's notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from mosaic_contract.fastlane import Frame, FrameReader, FrameWriter, Hud

from mosaic_lab.engines.engine import NodeFrame
from mosaic_lab.engines.frames import NodeFrames, mirror_frames


async def while_mirrored(node: Path, here: Path, holds: Callable[[], bool], enabled: bool = True) -> int:
    """Mirror a node's frames until a condition holds; return the number of requests to the node."""
    frames, asked = NodeFrames(node), 0

    async def fetch(fps: float) -> NodeFrame | None:
        nonlocal asked
        asked += 1
        return frames.newest(fps)

    work = asyncio.create_task(mirror_frames(fetch, here, enabled))
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)
    work.cancel()
    await asyncio.wait({work})
    return asked


def folders(place: Path) -> tuple[Path, Path]:
    for name in ("node", "here"):
        (place / name).mkdir()
    return place / "node", place / "here"


def test_a_frame_of_the_node_is_read_here(tmp_path: Path) -> None:
    node, here = folders(tmp_path)
    worker, reader = FrameWriter(node), FrameReader(here)
    seen: list[Frame] = []

    def read() -> bool:
        reader.watch(10)
        if worker.due():
            worker.publish(bytes(range(24)), Hud(step=7, text="hello"), (2, 4, 3))
        if (frame := reader.read()) is not None:
            seen.append(frame)
        return len(seen) > 1

    asyncio.run(while_mirrored(node, here, read))
    assert seen[0].pixels == bytes(range(24))
    assert (seen[0].shape, seen[0].hud) == ((2, 4, 3), Hud(step=7, text="hello"))
    assert reader.state in ("closed", "absent"), "the local ring must end with the mirror"


def test_without_watchers_nothing_is_requested(tmp_path: Path) -> None:
    node, here = folders(tmp_path)
    FrameWriter(node)
    reader = FrameReader(here)
    assert asyncio.run(while_mirrored(node, here, lambda: reader.state == "open")) == 0


def test_why_there_are_none_is_said_here(tmp_path: Path) -> None:
    node, here = folders(tmp_path)
    worker, reader = FrameWriter(node), FrameReader(here)
    worker.end("Blind-v0 cannot be drawn")

    def told() -> bool:
        reader.watch(10)
        return reader.state == "ended"

    asyncio.run(while_mirrored(node, here, lambda: told() and reader.notice == "Blind-v0 cannot be drawn"))
