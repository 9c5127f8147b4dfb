"""From a click on Step all to the new frames of all lanes on the page, in JupyterLab.

Four lanes of CartPole, random operators, thirty clicks one after the other; the time is the page's own, and
all of it is measured: the message to the kernel, the step of four arenas, drawing, and the frames' way back.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import judged, print_table
from browser.jupyter import Notebook
from browser.server import serving
from playwright.sync_api import Browser

MOST_MS = 200.0
INSTALL_MS = 600_000
CELL = """import mosaic_lab as mosaic
from mosaic_lab import operators
four = {str(lane): operators.random() for lane in range(4)}
cmp = mosaic.Lab().compare("CartPole-v1", four, seeds=range(30))
cmp"""
CLICK = """async () => {
    const lanes = document.querySelector(".mosaic-lanes"), {mosaicFrames} = lanes;
    const buttons = [...lanes.querySelectorAll("button")];
    const click = (name) => buttons.find((one) => one.textContent === name).click();
    const newer = async (action) => {
        const before = [...mosaicFrames.drawn], start = performance.now();
        action();
        while (!mosaicFrames.drawn.every((count, lane) => count > before[lane])) {
            if (performance.now() - start > 10000) throw new Error("not drawn in 10 s");
            await new Promise((resolve) => setTimeout(resolve, 1));
        }
        return performance.now() - start;
    };
    const times = [];
    for (let i = 0; i < 30; i++) {
        if (i % 5 === 0) await newer(() => click("Next seed"));
        await new Promise((resolve) => setTimeout(resolve, 150 + 100 * Math.random()));
        times.push(await newer(() => click("Step all")));
    }
    return times;
}"""


@pytest.mark.timeout(900)
def test_a_click_on_step_all_is_seen_soon(tmp_path: Path, browser: Browser) -> None:
    with serving(tmp_path) as server, browser.new_context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1500, "height": 1100})
        server.write_notebook("work.ipynb", [CELL])
        notebook = Notebook(page, server, "work.ipynb")
        notebook.start(0)
        page.locator(".mosaic-comparison").wait_for(timeout=INSTALL_MS)
        page.wait_for_function(
            "() => document.querySelector('.mosaic-lanes').mosaicFrames.drawn.every(Boolean)", timeout=60_000
        )
        times = sorted(page.evaluate(CLICK))
    rows = [
        [
            "4 lanes",
            f"{median(times):.0f}",
            f"{times[26]:.0f}",
            f"{times[-1]:.0f}",
            *judged(median(times), f"<= {MOST_MS:.0f}"),
        ]
    ]
    print_table(
        "Click on Step all until all lanes are drawn, ms",
        ["", "median", "p90", "worst", "target", "verdict"],
        rows,
    )
    assert median(times) < MOST_MS
