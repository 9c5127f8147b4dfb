"""Frames section of a run's live panel: live while unfolded, at no cost to the worker while folded."""

from __future__ import annotations

from pathlib import Path

from browser.jupyter import BUSY, JupyterLab, opened
from playwright.sync_api import Page, expect
from support import at_work, start_painter, wait_until

from mosaic_lab.runs import Run, Supervisor

SHOW = "import mosaic_lab as mosaic\nrun = mosaic.Lab().runs[0]\nrun"
LOADED = "import sys\n'ipycanvas' in sys.modules"


def reports(run: Run) -> list[float]:
    """Numbers of published frames, one per second."""
    return list(run.metrics("published")["value"])


def renders_nothing(run: Run) -> None:
    seen = len(reports(run))
    wait_until(lambda: len(reports(run)) >= seen + 5)
    assert reports(run)[-1] == reports(run)[-2]


def canvas_changes(page: Page) -> None:
    canvas = page.locator(".mosaic-panel .mosaic-frames canvas").first
    expect(canvas).to_be_visible()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    wait_until(lambda: canvas.evaluate("canvas => canvas.toDataURL()") != before)


def test_frames_unfold_in_a_panel_while_a_cell_runs_and_cost_nothing_folded(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    run = at_work(start_painter(Supervisor(folder / "mosaic_runs"), label="painter flat"))
    notebook = opened(page, jupyterlab, folder, SHOW, LOADED, BUSY)
    notebook.run(0)
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("False")
    head = page.locator(".mosaic-collapsible summary", has_text="Frames")
    expect(head).to_have_text("Frames")
    assert set(reports(run)) == {0.0}

    notebook.start(2)
    head.click()
    canvas_changes(page)

    head.click()
    expect(page.locator(".mosaic-frames")).to_have_count(0)
    renders_nothing(run)

    head.click()
    canvas_changes(page)
