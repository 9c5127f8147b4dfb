"""Frames in JupyterLab: how many are drawn, how late, and at what cost.

Drawn frames are counted in the page by the view's own counters. The age of a frame is the time from its
publication by the worker to its being drawn. Kernel CPU is the whole kernel's, reading the ring included. The
viewer asks for 60 frames/s; the worker publishes more.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import pytest
from benchmarks.measuring import judged, print_table, size
from benchmarks.own_chromium import Chromium
from browser.jupyter import JupyterLab, Notebook
from browser.server import serving
from playwright.sync_api import Browser, Page
from support import start_painter, store

ROUNDS, SECONDS = size((3, 5), (1, 1))
MINUTE, STRETCH = size((60, 10), (2, 1))
FPS = 60
CONTENTS = {
    "84×84": {"sizes": [[84, 84, 3]], "pattern": "flat"},
    "256×256 flat": {"sizes": [[256, 256, 3]], "pattern": "flat"},
    "600×400": {"sizes": [[400, 600, 3]], "pattern": "flat"},
    "640×480 noise": {"sizes": [[480, 640, 3]], "pattern": "noise"},
}
SERVERS = {"plain server": False, "small messages at once": True}

SETUP = """
import os
print("kernel", os.getpid())
import mosaic_lab as mosaic
runs = mosaic.Lab().runs"""
SHOW = f"wall = mosaic.RunGroup(runs).frames(fps={FPS}); wall"
END = "wall.close()"
CELLS = [SETUP, SHOW, END]

COUNTERS = """async (seconds) => {
    const {mosaicFrames} = document.querySelector(".mosaic-frames");
    mosaicFrames.ages.length = 0;
    const before = [...mosaicFrames.drawn];
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    return {drawn: mosaicFrames.drawn.map((count, tile) => count - before[tile]), ages: mosaicFrames.ages};
}"""

FORGET = """() => {
    const {mosaicFrames} = document.querySelector(".mosaic-frames");
    const counted = {drawn: mosaicFrames.drawn[0] - (window.before ?? 0), ages: [...mosaicFrames.ages]};
    window.before = mosaicFrames.drawn[0];
    mosaicFrames.ages.length = 0;
    return counted;
}"""
SETTLE_MS = 2000  # then what is sized by measurement has been sized


@dataclass
class Shown:
    """Frames drawn in an interval: per second and tile, their ages, kernel CPU for each."""

    rates: list[float]
    ages_ms: list[float]
    kernel_ms: float

    @property
    def p95(self) -> float:
        return float(np.quantile(self.ages_ms, 0.95))


Row = tuple[str, Callable[[Shown], float], str]
"""Name, value and target of a line of the table."""


class Stage:
    """A notebook whose kernel and page show the frames of the runs in its folder."""

    def __init__(self, page: Page, server: JupyterLab, folder: Path) -> None:
        self.page = page
        server.write_notebook(f"{folder.name}/work.ipynb", CELLS)
        self.notebook = Notebook(self.page, server, f"{folder.name}/work.ipynb")
        self.notebook.run(0)
        self.kernel = psutil.Process(int(self.notebook.output(0).first.inner_text().split()[1]))

    def measure(self, watch: Callable[[], Any]) -> tuple[Any, float]:
        """The result of ``watch``, and the kernel's CPU seconds meanwhile."""
        before = sum(self.kernel.cpu_times()[:2])
        seen = watch()
        return seen, sum(self.kernel.cpu_times()[:2]) - before

    def show(self) -> None:
        self.notebook.run(1)
        self.page.wait_for_function(
            "document.querySelector('.mosaic-frames')?.mosaicFrames?.drawn.every(Boolean)"
        )
        self.page.locator(".mosaic-frames").scroll_into_view_if_needed()
        self.page.wait_for_timeout(SETTLE_MS)

    def look(self, seconds: float = SECONDS) -> Shown:
        seen, cpu = self.measure(lambda: self.page.evaluate(COUNTERS, seconds))
        drawn = sum(seen["drawn"])
        return Shown([count / seconds for count in seen["drawn"]], seen["ages"], 1000 * cpu / max(1, drawn))

    def shown(self) -> Shown:
        self.show()
        shown = self.look()
        self.notebook.run(2)
        return shown


@pytest.fixture(scope="module")
def table() -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    yield rows
    print_table(
        f"Frames in JupyterLab: medians of {ROUNDS} rounds of {SECONDS} s",
        ["", "median", "target", "verdict"],
        rows,
    )


@pytest.fixture(scope="module", params=SERVERS)
def server(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, request: pytest.FixtureRequest
) -> Iterator[JupyterLab]:
    option = f"--MosaicLab.small_messages_at_once={SERVERS[request.param]}"
    with serving(tmp_path_factory.mktemp("jupyter"), option) as server:
        yield server


@pytest.fixture
def paint(server: JupyterLab, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Starts painters, ``paint(count, **hyperparameters)``, and returns the folder of their notebook."""
    folder = server.root / tmp_path.name
    with store(folder / "mosaic_runs", max_running=8) as supervisor:

        def start(count: int = 1, **settings: Any) -> Path:
            for _ in range(count):
                start_painter(supervisor, **settings)
            return folder

        yield start


@pytest.mark.parametrize("content", CONTENTS)
def test_one_run(
    page: Page,
    server: JupyterLab,
    paint: Callable[..., Path],
    content: str,
    table: list[list[str]],
    request: pytest.FixtureRequest,
) -> None:
    stage = Stage(page, server, paint(**CONTENTS[content], rate=2 * FPS, free=True))
    shown = [stage.shown() for _ in range(ROUNDS)]
    add(
        table,
        f"{content}, {request.node.callspec.params['server']}",
        shown,
        ("drawn/s", lambda look: look.rates[0], ">= 30"),
        ("kernel CPU, ms a frame", lambda look: look.kernel_ms, ""),
        ("age at 95%, ms", lambda look: look.p95, "<= 100 ms"),
    )


def add(table: list[list[str]], name: str, shown: list[Shown], *rows: Row) -> None:
    """Append the medians of measurements to the table."""
    for what, value, target in rows:
        middle = median(map(value, shown))
        table.append([f"{name}: {what}", f"{middle:.4g}", *judged(middle, target)])


def test_eight_tiles(
    page: Page,
    server: JupyterLab,
    paint: Callable[..., Path],
    table: list[list[str]],
    request: pytest.FixtureRequest,
) -> None:
    stage = Stage(page, server, paint(8, sizes=[[256, 256, 3]], rate=FPS))
    stage.show()
    shown = [stage.look() for _ in range(ROUNDS)]
    add(
        table,
        f"eight tiles of 256×256 flat, {request.node.callspec.params['server']}",
        shown,
        ("drawn/s of the slowest", lambda look: min(look.rates), ">= 15"),
        ("kernel CPU, ms a frame", lambda look: look.kernel_ms, ""),
        ("age at 95%, ms", lambda look: look.p95, ""),
    )


@pytest.mark.parametrize("server", ["small messages at once"], indirect=True)
def test_a_minute_of_1000_frames_a_second(
    chromium: Chromium, server: JupyterLab, paint: Callable[..., Path], table: list[list[str]]
) -> None:
    folder = paint(sizes=[[400, 600, 3]], rate=1000, free=True)
    with chromium.page() as page:
        stage = Stage(page, server, folder)
        stage.show()
        page.evaluate(FORGET)
    seen: dict[str, list[float]] = defaultdict(list)
    for _ in range(MINUTE // STRETCH):
        time.sleep(STRETCH)
        with chromium.page() as page:
            counted = page.evaluate(FORGET)
            memory = {"kernel": stage.kernel.memory_info().rss, **chromium.memory(page)}
        seen["drawn/s"].append(counted["drawn"] / STRETCH)
        seen["age at 95%, ms"].append(float(np.quantile(counted["ages"], 0.95)))
        for what, value in memory.items():
            seen[f"{what}, MiB"].append(value / 2**20)
    for what, values in seen.items():
        shown = " ".join(f"{value:.4g}" for value in values)
        growth = values[-1] / values[0] if what.endswith("MiB") else 0.0
        cells = judged(growth, "<= 1.1 of the first" if growth else "")
        table.append([f"600×400 at 1,000/s, each {STRETCH} s: {what}", shown, *cells])
