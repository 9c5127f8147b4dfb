"""Fixtures for frame streams: real runs, real rings, and a page that collects the messages sent to it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from mosaic_contract.fastlane import FrameWriter, Hud
from support import start_peer, wait_until
from widgets.pages import Page

from mosaic_lab.fastlane import Packet
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.widgets.frames.frame_stream import FrameStream


class Clock:
    """The monotonic clock plus an offset that a test sets."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


class View(Page):
    """A page that keeps the packets, files and failures sent to it; while ``broken``, sending to it fails."""

    def __init__(self, stream: FrameStream, runs: Sequence[Run], fps: float = 30.0) -> None:
        self.packets: list[tuple[int, Packet]] = []
        self.sizes: list[int] = []
        self.files: list[tuple[str, str, bytes]] = []
        self.failures: list[str] = []
        self.pongs = 0
        self.broken = False
        self.closed = threading.Event()
        super().__init__(stream, runs, fps)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        if self.broken:
            raise OSError("the way is broken")
        json.dumps(data, allow_nan=False)
        super().publish_msg(msg_type, data, metadata, buffers, **keys)

    def close(self, *said: Any, **more: Any) -> None:
        """Called when the kernel closes the comm."""
        self.closed.set()

    def more(self, count: int = 5) -> None:
        """Wait until `count` more frames have arrived."""
        wanted = len(self.packets) + count
        wait_until(lambda: len(self.packets) >= wanted)

    def file(self) -> tuple[str, str, bytes]:
        wait_until(lambda: self.files or self.failures)
        assert self.failures == []
        return self.files.pop()

    def failure(self) -> str:
        wait_until(lambda: self.failures)
        return self.failures.pop()

    def _on_frames(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.sizes.append(sum(map(len, buffers)))
        super()._on_frames(data, buffers)

    def _on_pong(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.pongs += 1

    def _on_file(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.files.append((data["name"], data["mime"], buffers[0]))

    def _on_failed(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.failures.append(data["text"])

    def _check(self, tile: int, packet: Packet) -> None:
        self.packets.append((tile, packet))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream(clock: Clock) -> FrameStream:
    return FrameStream(clock)


@pytest.fixture
def writer(supervisor: Supervisor) -> Iterator[FrameWriter]:
    """The writer of a run whose worker publishes no frames itself."""
    writer = FrameWriter(start_peer(supervisor, "silent").path)
    yield writer
    writer.close()


def run_of(supervisor: Supervisor) -> Run:
    [run] = supervisor.runs()
    return run


def shown(view: View, writer: FrameWriter, pixels: np.ndarray[Any, Any], hud: Hud = Hud()) -> Packet:  # noqa: B008
    """Publish a frame and return the packet that the page receives."""
    before = len(view.packets)
    writer.publish(pixels, hud)
    wait_until(lambda: len(view.packets) > before)
    return view.packets[-1][1]


def noise(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)
