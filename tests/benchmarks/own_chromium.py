"""A separate Chromium with known processes, and measurements of its page."""

from __future__ import annotations

import base64
import io
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from browser.chromium import CHROMIUM_ARGUMENTS, chromium_executable
from browser.server import free_port
from PIL import Image
from playwright.sync_api import Browser, BrowserType, Page
from support import wait_until

WINDOW = "--window-size=1400,900"
COLOURED = 60
"""Minimum difference between the channels of a curve's pixel; text, axes and grid have less."""
CHANGED = 40
"""Minimum difference in a channel for a pixel to count as changed."""
FRAMES_DRAWN = """async ([selector, seconds]) => {
    const {mosaicFrames} = document.querySelector(selector);
    mosaicFrames.ages.length = 0;
    const before = [...mosaicFrames.drawn];
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    return {drawn: mosaicFrames.drawn.map((count, tile) => count - before[tile]), ages: mosaicFrames.ages};
}"""
"""For `Page.evaluate`: count the frames that a selector's widget draws in some seconds, with their ages."""

Box = dict[str, float]


@dataclass
class Chromium:
    """A separate Chromium; DevTools is attached to it only to act and to measure.

    While it is attached, a page that receives messages from JupyterLab grows by about a megabyte per second.
    """

    process: psutil.Popen
    chromium: BrowserType
    port: int

    @contextmanager
    def page(self) -> Iterator[Page]:
        attached = self.chromium.connect_over_cdp(f"http://127.0.0.1:{self.port}")
        try:
            yield attached.contexts[0].pages[0]
        finally:
            attached.close()

    def renderers(self) -> list[psutil.Process]:
        return [p for p in self.process.children(recursive=True) if "--type=renderer" in p.cmdline()]

    def memory(self, page: Page) -> dict[str, int]:
        """Return the bytes in use: the page's live objects, and the private memory of the renderers."""
        devtools = page.context.new_cdp_session(page)
        devtools.send("HeapProfiler.collectGarbage")
        return {
            "JavaScript heap": devtools.send("Runtime.getHeapUsage")["usedSize"],
            "renderers": own_memory(self.renderers()),
        }


def own_memory(processes: list[psutil.Process]) -> int:
    """Return the private memory of these processes, in bytes."""
    return sum(process.memory_full_info().uss for process in processes)


@contextmanager
def own_chromium(browser: Browser, profile: Path) -> Iterator[Chromium]:
    port = free_port()
    options = ["--headless", f"--remote-debugging-port={port}", f"--user-data-dir={profile}", WINDOW]
    process = psutil.Popen(
        [chromium_executable(), *options, *CHROMIUM_ARGUMENTS, "about:blank"], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: is_open(port))
        yield Chromium(process, browser.browser_type, port)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def chromium(browser: Browser, tmp_path: Path) -> Iterator[Chromium]:
    with own_chromium(browser, tmp_path / "profile") as found:
        yield found


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Screencast:
    """Screenshots of each change of the page, with times, as DevTools sends them."""

    pictures: list[tuple[float, bytes]] = field(default_factory=list)

    def drawn(self, boxes: list[Box], share: float) -> float:
        """Return the Unix time from which these boxes have ``share`` of their final coloured pixels."""
        counts = [(at, sum(map(coloured, crops))) for at, crops in self._crops(boxes)]
        wanted = share * counts[-1][1]
        assert wanted > 50, "nothing was drawn"
        # Not the first time: coloured pixels that disappear again (a splash) are not curves.
        last_without = max((at for at, count in counts if count < wanted), default=0.0)
        return next(at for at, _ in counts if at > last_without)

    def changed(self, box: Box, after: float) -> float | None:
        """Return the Unix time, after ``after``, at which this box changed; None if it has not changed."""
        crops = list(self._crops([box]))
        before = [crop for at, (crop,) in crops if at <= after][-1].astype(int)
        for at, (crop,) in crops:
            if at > after and (np.abs(crop - before).max(axis=-1) > CHANGED).mean() > 0.002:
                return at
        return None

    def _crops(self, boxes: list[Box]) -> Iterator[tuple[float, list[np.ndarray]]]:
        for at, data in self.pictures:
            picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
            yield at, [cropped(picture, box) for box in boxes]


def cropped(picture: np.ndarray, box: Box) -> np.ndarray:
    left, top = int(box["x"]), int(box["y"])
    return picture[top : top + int(box["height"]), left : left + int(box["width"])]


def coloured(picture: np.ndarray) -> int:
    """Return the number of coloured pixels."""
    return int((picture.max(axis=-1).astype(int) - picture.min(axis=-1) > COLOURED).sum())


@contextmanager
def screencast(page: Page) -> Iterator[Screencast]:
    """Record screenshots of the page while the block runs; they arrive while Playwright waits."""
    devtools = page.context.new_cdp_session(page)
    cast = Screencast()

    def take(event: dict[str, Any]) -> None:
        cast.pictures.append((event["metadata"]["timestamp"], base64.b64decode(event["data"])))
        devtools.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

    devtools.on("Page.screencastFrame", take)
    devtools.send("Page.startScreencast", {"format": "jpeg", "quality": 80})
    try:
        yield cast
    finally:
        devtools.send("Page.stopScreencast")
        devtools.detach()
