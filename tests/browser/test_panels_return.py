"""Panels reconnect after kernel restarts and reloads, and the notebook file records each run's outcome."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from browser.jupyter import MAKE_LAB, JupyterLab, Notebook, opened, start_long
from playwright.sync_api import Locator, Page, expect
from support import start_painter, wait_until

from mosaic_lab.runs import RunGroup, Supervisor
from mosaic_lab.widgets.page.saved_form import METADATA

LATER_MS = 60_000
FIGURE = ".bqplot .curve path.line"


@pytest.fixture
def notebook(page: Page, jupyterlab: JupyterLab, folder: Path) -> Notebook:
    shown = ["lab.runs[0]", "mosaic.RunGroup(lab.runs[:2]).chart('episode_return')", "lab.runs[2].frames()"]
    return opened(page, jupyterlab, folder, MAKE_LAB, *shown)


def panel(notebook: Notebook, cell: int) -> Locator:
    return notebook.cell(cell).locator(".mosaic-panel").first


def grows(notebook: Notebook, cell: int) -> None:
    line = panel(notebook, cell).locator(FIGURE).last
    panel(notebook, cell).scroll_into_view_if_needed()
    expect(line).to_be_attached()
    before = line.get_attribute("d")
    wait_until(lambda: line.get_attribute("d") != before)


def saved(notebook: Notebook, folder: Path) -> str:
    """Save the notebook; return our outputs in its file as text."""
    path = folder / "work.ipynb"
    notebook.page.keyboard.press("Control+s")
    text = wait_until(lambda: (read := path.read_text()).endswith("}\n") and read)  # until it is written
    written = nbformat.reads(text, as_version=4)
    outputs = [output for cell in written.cells for output in cell.outputs]
    return "".join(str(output["data"]) for output in outputs if METADATA in output.get("metadata", {}))


def said(text: str) -> int:
    """Number of captions that report a run still running; each is saved as HTML and as plain text."""
    return text.count("still running when this notebook was saved") // 2


def test_living_runs_come_back_with_the_next_lab_and_the_file_holds_how_they_ended(
    notebook: Notebook, folder: Path
) -> None:
    """After a kernel restart and a reload; also for runs that end while no page is open."""
    runs = [start_long(folder, seed=seed) for seed in (1, 2)]
    runs.append(start_painter(Supervisor(folder / "mosaic_runs", max_running=9)))
    for cell in range(4):
        notebook.run(cell)
    grows(notebook, 1)
    notebook.restart_kernel()
    gone = panel(notebook, 1).locator(".mosaic-disconnected")
    expect(gone).to_have_text(
        "The kernel was restarted or shut down. Run mosaic_lab.Lab() to bring this panel back; "
        f'lab.run("{runs[0].id}") shows this run again, too.'
    )
    expect(panel(notebook, 1).get_by_role("button", name="Stop")).to_be_disabled()
    notebook.run(0)
    for cell in (1, 2):
        notebook.cell(cell).scroll_into_view_if_needed()
        expect(panel(notebook, cell).locator(".mosaic-disconnected")).to_be_hidden(timeout=LATER_MS)
        expect(notebook.cell(cell).locator(".mosaic-panel")).to_have_count(1)
        grows(notebook, cell)
    panel(notebook, 3).scroll_into_view_if_needed()
    expect(panel(notebook, 3).locator(".mosaic-notice").first).to_be_hidden(timeout=LATER_MS)
    wait_until(lambda: said(saved(notebook, folder)) == 3, timeout=60)

    notebook.reload()  # the file now contains the new kernel's widgets
    panel(notebook, 1).get_by_role("button", name="Stop").click()
    expect(panel(notebook, 1).locator(".mosaic-chip").first).to_have_text("cancelled")
    wait_until(lambda: said(saved(notebook, folder)) == 2, timeout=60)
    notebook.page.goto("about:blank")  # the runs end while no page is open
    RunGroup(runs).stop(grace=0)
    notebook.page.go_back()
    notebook.wait_idle()
    wait_until(lambda: said(saved(notebook, folder)) == 0, timeout=60)
    assert saved(notebook, folder).count("image/png") == 3, "not two charts and the last frame"
    expect(panel(notebook, 1).locator(".mosaic-chip").first).to_have_text("cancelled", timeout=LATER_MS)


@pytest.mark.extended
def test_a_panel_whose_output_was_replaced_is_let_go(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    runs = [start_long(folder, seed=seed) for seed in (1, 2)]
    which = folder / "which"
    count = (
        "import ipywidgets, time\ncount = lambda: len(ipywidgets.widgets.widget._instances)\nprint(count())"
    )
    back = "shown = count()\nwhile count() != first:\n    time.sleep(0.1)"
    shown = f"lab.runs[int(open({str(which)!r}).read())]"
    notebook = opened(page, jupyterlab, folder, MAKE_LAB, shown, f"{count}\nfirst = count()", back)
    for cell, run in ((0, 0), (1, 0), (2, 0), (1, 1), (3, 1)):
        which.write_text(str(run))
        notebook.run(cell)
    grows(notebook, 1)
    assert [run.alive for run in runs] == [True, True]
