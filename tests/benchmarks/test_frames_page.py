"""Frames in JupyterLab, compared with jupyter_rfb: the same run, page, kernel and server, viewers in turns.

The page counts drawn frames: ours by the view's own counters, jupyter_rfb's by the loads of its image. The
age of a frame is the time from its publication by the worker until it is drawn. Kernel CPU is that of the
kernel's process, including reads of the ring. Both viewers request 60 frames/s; the worker publishes more.
Eight tiles request 30 each. One more row is measured with a server that delays small messages, as Jupyter's
server does without our extension.
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
from benchmarks.measuring import judged, paired, print_table, ratio_row, size
from benchmarks.own_chromium import FRAMES_DRAWN, Chromium
from browser.jupyter import JupyterLab, Notebook
from browser.server import serving
from playwright.sync_api import Browser, Page
from support import start_painter, store

ROUNDS, SECONDS = size((3, 5), (1, 1))
MINUTES, STRETCH = size((120, 10), (2, 1))  # the first half fills the one-minute recording
FPS = 60
TILES, TILES_FPS = 8, 30
CONTENTS = {
    "84×84": {"sizes": [[84, 84, 3]], "pattern": "flat"},
    "256×256 flat": {"sizes": [[256, 256, 3]], "pattern": "flat"},
    "600×400": {"sizes": [[400, 600, 3]], "pattern": "flat"},
    "640×480 noise": {"sizes": [[480, 640, 3]], "pattern": "noise"},
}
WAITING = "--MosaicLab.small_messages_at_once=False"

SETUP = f"""
import os, sys
print("kernel", os.getpid())
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from benchmarks.rival import Rival
import mosaic_lab as mosaic
runs = mosaic.Lab().runs"""
SHOW_OURS = f"wall = mosaic.RunGroup(runs).frames(fps={FPS} if len(runs) == 1 else {TILES_FPS}); wall"
END_OURS = "wall.close()"
SHOW_THEIRS = f"rival = Rival(str(runs[0].path), {FPS}); rival"
END_THEIRS = "rival.end()"
CELLS = [SETUP, SHOW_OURS, END_OURS, SHOW_THEIRS, END_THEIRS]

# jupyter_rfb makes an image of each message; `Rival` appends the frame's time of publication to it.
COUNT_THEIRS = """
window.theirAges = [];
const published = new Map();
window.Blob = class extends Blob {
    constructor(parts, options) {
        super(parts, options);
        if (/^image.(jpeg|png)$/.test(this.type) && parts[0] instanceof ArrayBuffer)
            this.published = new DataView(parts[0]).getFloat64(parts[0].byteLength - 8, true);
    }
};
const createObjectURL = URL.createObjectURL;
URL.createObjectURL = (object) => {
    const url = createObjectURL.call(URL, object);
    if (object.published) published.set(url, object.published);
    return url;
};
document.addEventListener("load", ({target}) => {
    if (!published.has(target.src)) return;
    theirAges.push(Date.now() - 1000 * published.get(target.src));
    published.delete(target.src);
}, true);
"""
FORGET_OURS = """() => {
    const {mosaicFrames} = document.querySelector(".mosaic-frames");
    const counted = {drawn: mosaicFrames.drawn[0] - (window.before ?? 0), ages: [...mosaicFrames.ages]};
    window.before = mosaicFrames.drawn[0];
    mosaicFrames.ages.length = 0;
    return counted;
}"""
THEIR_AGES = "(seconds) => new Promise((resolve) => setTimeout(() => resolve(theirAges), 1000 * seconds))"
SETTLE_MS = 2000  # until measured sizes have settled


@dataclass
class Shown:
    """Frames drawn in an interval: their rates per tile, their ages, kernel CPU per frame."""

    rates: list[float]
    ages_ms: list[float]
    kernel_ms: float

    @property
    def p95(self) -> float:
        return float(np.quantile(self.ages_ms, 0.95))


class Stage:
    """A notebook whose kernel and page show the frames of the runs in its folder."""

    def __init__(self, page: Page, server: JupyterLab, folder: Path) -> None:
        self.page = page
        self.page.add_init_script(COUNT_THEIRS)
        server.write_notebook(f"{folder.name}/work.ipynb", CELLS)
        self.notebook = Notebook(self.page, server, f"{folder.name}/work.ipynb")
        self.notebook.run(0)
        self.kernel = psutil.Process(int(self.notebook.output(0).first.inner_text().split()[1]))

    def measure(self, watch: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of ``watch``, and the kernel's CPU seconds in the meantime."""
        before = sum(self.kernel.cpu_times()[:2])
        seen = watch()
        return seen, sum(self.kernel.cpu_times()[:2]) - before

    def show_ours(self) -> None:
        self.notebook.run(1)
        self.page.wait_for_function(
            "document.querySelector('.mosaic-frames')?.mosaicFrames?.drawn.every(Boolean)"
        )
        self.page.locator(".mosaic-frames").scroll_into_view_if_needed()
        self.page.wait_for_timeout(SETTLE_MS)

    def look(self, seconds: float = SECONDS) -> Shown:
        seen, cpu = self.measure(lambda: self.page.evaluate(FRAMES_DRAWN, [".mosaic-frames", seconds]))
        drawn = sum(seen["drawn"])
        return Shown([count / seconds for count in seen["drawn"]], seen["ages"], 1000 * cpu / max(1, drawn))

    def ours(self) -> Shown:
        self.show_ours()
        shown = self.look()
        self.notebook.run(2)
        return shown

    def theirs(self) -> Shown:
        self.page.evaluate("theirAges.length = 0")
        self.notebook.run(3)
        self.page.wait_for_function("theirAges.length > 0")
        self.page.locator(".renderview-wrapper").scroll_into_view_if_needed()
        self.page.wait_for_timeout(SETTLE_MS)
        self.page.evaluate("theirAges.length = 0")
        ages, cpu = self.measure(lambda: self.page.evaluate(THEIR_AGES, SECONDS))
        self.notebook.run(4)
        return Shown([len(ages) / SECONDS], ages, 1000 * cpu / max(1, len(ages)))


@pytest.fixture(scope="module")
def table() -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    yield rows
    print_table(
        f"Frames in JupyterLab: medians of {ROUNDS} rounds of {SECONDS} s; the viewers take turns",
        ["", "ours", "jupyter_rfb", "ratio", "target", "verdict"],
        rows,
    )


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, request: pytest.FixtureRequest
) -> Iterator[JupyterLab]:
    with serving(tmp_path_factory.mktemp("jupyter"), *getattr(request, "param", ())) as server:
        yield server


@pytest.fixture
def paint(server: JupyterLab, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """``paint(count, **hyperparameters)`` starts painters and returns the folder of their notebook."""
    folder = server.root / tmp_path.name
    with store(folder / "mosaic_runs", max_running=TILES) as supervisor:

        def start(count: int = 1, **settings: Any) -> Path:
            for _ in range(count):
                start_painter(supervisor, **settings)
            return folder

        yield start


@pytest.mark.parametrize("content", CONTENTS)
def test_one_run(
    page: Page, server: JupyterLab, paint: Callable[..., Path], content: str, table: list[list[str]]
) -> None:
    stage = Stage(page, server, paint(**CONTENTS[content], rate=2 * FPS, free=True))
    shown = paired(stage.ours, stage.theirs, ROUNDS)
    noise = CONTENTS[content]["pattern"] == "noise"
    for what, value, ratio, own in (
        ("drawn/s", lambda s: s.rates[0], ">= 1.5" if noise else "", "" if noise else ">= 57"),
        ("kernel CPU, ms a frame", lambda s: s.kernel_ms, "<= 1", ""),
        ("age at 95%, ms", lambda s: s.p95, "", "<= 100 ms"),
    ):
        pairs = [(value(ours), value(theirs)) for ours, theirs in shown]
        *cells, target, verdict = ratio_row(f"{content}: {what}", pairs, ratio)
        verdicts = judged(median(ours for ours, _ in pairs), own) if own else [target, verdict]
        table.append([*cells, *verdicts])


def test_eight_tiles(
    page: Page, server: JupyterLab, paint: Callable[..., Path], table: list[list[str]]
) -> None:
    stage = Stage(page, server, paint(TILES, sizes=[[256, 256, 3]], rate=FPS))
    stage.show_ours()
    shown = [stage.look() for _ in range(ROUNDS)]
    for what, value, target in (
        ("drawn/s of the slowest", lambda look: min(look.rates), f">= {0.95 * TILES_FPS:g}"),
        ("kernel CPU, ms a frame", lambda look: look.kernel_ms, ""),
        ("age at 95%, ms", lambda look: look.p95, "<= 100 ms"),
    ):
        middle = median(map(value, shown))
        name = f"eight tiles of 256×256 flat: {what}"
        table.append([name, f"{middle:.4g}", "", "", *judged(middle, target)])


def test_two_minutes_of_1000_frames_a_second(
    chromium: Chromium, server: JupyterLab, paint: Callable[..., Path], table: list[list[str]]
) -> None:
    folder = paint(sizes=[[400, 600, 3]], rate=1000, free=True)
    with chromium.page() as page:
        stage = Stage(page, server, folder)
        stage.show_ours()
        page.evaluate(FORGET_OURS)
    seen: dict[str, list[float]] = defaultdict(list)
    for _ in range(MINUTES // STRETCH):
        time.sleep(STRETCH)
        with chromium.page() as page:
            counted = page.evaluate(FORGET_OURS)
            memory = {"kernel": stage.kernel.memory_info().rss, **chromium.memory(page)}
        seen["drawn/s"].append(counted["drawn"] / STRETCH)
        seen["age at 95%, ms"].append(float(np.quantile(counted["ages"], 0.95)))
        for what, value in memory.items():
            seen[f"{what}, MiB"].append(value / 2**20)
    for what, values in seen.items():
        shown = " ".join(f"{value:.4g}" for value in values)
        full = values[len(values) // 2 - 1]
        growth = values[-1] / full if what.endswith("MiB") else 0.0
        cells = judged(growth, "<= 1.1 of when the recording was full" if growth else "")
        table.append([f"600×400 at 1,000/s, each {STRETCH} s: {what}", shown, "", "", *cells])


@pytest.mark.parametrize("server", [[WAITING]], indirect=True)
def test_small_messages_that_wait(
    page: Page, server: JupyterLab, paint: Callable[..., Path], table: list[list[str]]
) -> None:
    shown = Stage(page, server, paint(**CONTENTS["84×84"], rate=2 * FPS, free=True)).ours()
    table.append([f"84×84, {WAITING[2:]}: drawn/s", f"{shown.rates[0]:.4g}", "", "", *judged(0.0, "")])
