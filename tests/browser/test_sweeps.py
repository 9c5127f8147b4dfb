"""Sweeps in JupyterLab: live, sorted, stopped, resumed, and in the saved notebook."""

from __future__ import annotations

from pathlib import Path

from browser.jupyter import BUSY, JupyterLab, opened
from playwright.sync_api import Page, expect
from support import wait_until

INSTALL_MS = 300_000  # the kernel may build the worker's environment
SWEEP = """import mosaic_lab as mosaic
lab = mosaic.Lab()
sweep = lab.sweep(
    "hiker", algorithm="climb", env="Hill-v0", total_timesteps=300, seconds=0.02, trials=4, parallel=2,
    pruner="none", metric="skill", search={"rate": mosaic.search.loguniform(1e-3, 1e-2), "stride": [2, 4]},
)
sweep"""


def test_a_sweep_is_stopped_resumed_and_live_while_a_cell_runs_and_its_trials_are_sorted(
    page: Page, jupyterlab: JupyterLab, folder: Path, hiker: Path
) -> None:
    home = f"import os\nos.environ['MOSAIC_LAB_HOME'] = {str(hiker)!r}\n"
    notebook = opened(page, jupyterlab, folder, home + SWEEP, "sweep.resume()", BUSY)
    notebook.start(0)
    stopped = page.locator(".mosaic-panel").first
    expect(stopped).to_be_visible(timeout=INSTALL_MS)
    expect(stopped.locator(".mosaic-table caption")).to_have_text("2 running")
    stopped.get_by_role("button", name="Stop", exact=True).click()
    expect(stopped.locator(".mosaic-chips")).to_have_text("cancelled")
    expect(stopped.locator(".mosaic-table caption")).to_have_text("2 cancelled")
    notebook.start(1)
    panel = page.locator(".mosaic-panel").nth(1)
    expect(panel).to_be_visible()
    notebook.start(2)
    wait_until(lambda: (folder / "busy").exists())
    expect(panel.locator(".mosaic-title")).to_have_text("Sweep · climb Hill-v0")
    expect(panel.locator(".mosaic-numbers")).to_contain_text("4 of 4 trials", timeout=120_000)
    rows = panel.locator(".mosaic-table tbody tr")
    expect(rows).to_have_count(4)
    expect(panel.locator(".mosaic-table caption")).to_have_text("4 completed")

    def column(place: int) -> list[float]:
        cells = panel.locator(f".mosaic-table tbody tr td:nth-child({place})").all_inner_texts()
        return [float(text.replace("−", "-")) for text in cells]

    assert column(1) == [3, 2, 1, 0]
    title = panel.get_by_role("button", name="skill")
    title.click()
    wait_until(lambda: column(3) == sorted(column(3), reverse=True))
    expect(title.locator("..")).to_have_attribute("aria-sort", "descending")
    title.press("Enter")
    wait_until(lambda: column(3) == sorted(column(3)))
    headings = panel.locator(".bqplot .mainheading")
    expect(headings.filter(has_text="Learning curves")).to_have_count(1)
    expect(headings.filter(has_text="Parallel coordinates")).to_have_count(1)
    expect(panel.locator(".mosaic-chips")).to_have_text("completed")
    (folder / "go").touch()
    notebook.wait_idle()
    expect(page.locator(".jp-RenderedImage img")).to_have_count(1)  # hidden behind the live panel
    page.keyboard.press("Control+s")
    saved = "4 of 4 trials, completed: 4 completed"
    wait_until(lambda: saved in (folder / "work.ipynb").read_text())
