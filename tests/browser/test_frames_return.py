"""Frames come back by themselves: after a reload, a restart, silence, out of sight. The last one stays."""

from __future__ import annotations

import base64
import os
import re
import signal
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from browser.frames import (
    BUSY,
    SHOW,
    SOON_MS,
    flows,
    hide,
    notice,
    opened,
    saved,
    shown,
    start,
    view,
    watched,
)
from browser.jupyter import JupyterLab
from peers.painter import painted
from PIL import Image
from playwright.sync_api import Page, expect
from support import wait_until


@pytest.mark.extended
def test_frames_without_a_viewer_cost_nothing(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    run = start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW, "print('\\n' * 200)", "1 + 1")
    notebook.run(0)
    flows(page)
    assert watched(run)
    notebook.run(1)
    notebook.cell(2).scroll_into_view_if_needed()
    wait_until(lambda: not watched(run))
    view(page).scroll_into_view_if_needed()
    flows(page)
    hide(page, True)
    wait_until(lambda: not watched(run))
    hide(page, False)
    flows(page)


@pytest.mark.extended
def test_an_interrupted_kernel_does_not_end_frames(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW, BUSY)
    notebook.run(0)
    notebook.start(1)
    # Not read from the status bar: the frames' own messages make it say idle and busy by turns.
    wait_until((folder / "busy").exists)
    flows(page)
    notebook.page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:interrupt-kernel']").click()
    expect(notebook.output(1)).to_contain_text("KeyboardInterrupt", timeout=SOON_MS)
    flows(page)


@pytest.mark.extended
def test_the_same_output_goes_on_when_a_restarted_kernel_has_a_lab(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW, "import mosaic_lab\nlab = mosaic_lab.Lab()")
    notebook.run(0)
    flows(page)
    notebook.restart_kernel()
    gone = view(page).get_by_text("The kernel was restarted.")
    expect(gone).to_be_visible(timeout=SOON_MS)
    expect(view(page).locator("canvas")).to_be_visible()  # the last frame stays
    notebook.run(1)
    expect(gone).to_be_hidden(timeout=SOON_MS)
    flows(page)
    expect(view(page)).to_have_count(1)
    expect(notebook.output(1)).not_to_contain_text("No such comm")


@pytest.mark.extended
def test_a_kernel_that_was_shut_down_is_shown(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    flows(page)
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    expect(view(page).get_by_text("The kernel was shut down")).to_be_visible(timeout=SOON_MS)


@pytest.mark.extended
def test_a_kernel_that_is_silent_is_shown_until_it_answers(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, f"import os\nprint('kernel', os.getpid())\n{SHOW}")
    notebook.run(0)
    flows(page)
    kernel = int(notebook.output(0).first.inner_text().split()[1])
    gone = view(page).get_by_text("The kernel does not answer.")
    os.kill(kernel, signal.SIGSTOP)
    try:
        expect(gone).to_be_visible(timeout=2 * SOON_MS)
    finally:
        os.kill(kernel, signal.SIGCONT)
    expect(gone).to_be_hidden(timeout=2 * SOON_MS)
    flows(page)


def test_frames_come_back_after_a_reload_and_the_last_one_stays_without_a_kernel(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    run = start(folder, (400, 600, 3), pattern="flat")
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    flows(page)
    page.keyboard.press("Control+s")
    wait_until(lambda: "mosaic-saved" in (folder / "work.ipynb").read_text())
    notebook.reload()
    flows(page)

    picture = page.locator(".jp-RenderedImage img")
    run.stop(grace=5)
    expect(notice(page)).to_contain_text("cancelled", timeout=SOON_MS)
    expect(view(page).locator("canvas")).to_be_visible()
    saved(page, "Save this frame as PNG")
    expect(picture).to_be_attached(timeout=SOON_MS)
    expect(picture).to_be_hidden()  # the live view is there
    number = shown(page)
    path = folder / "work.ipynb"

    def saved_number() -> int:
        page.keyboard.press("Control+s")
        pngs = re.findall(r'"image/png": "([^"]+)"', path.read_text())
        if not pngs:  # it is being written
            return -1
        png = base64.b64decode(pngs[-1].replace("\\n", ""))
        pixels = np.asarray(Image.open(BytesIO(png)).convert("RGB"))
        pixels = pixels[1:-1, 1:-1]  # the frame in its border
        return painted(pixels.tobytes(), pixels.shape)

    page.keyboard.press("Control+s")
    wait_until(lambda: "image/png" in path.read_text())
    wait_until(lambda: saved_number() == number)
    notebook.restart_kernel()
    page.reload()
    expect(picture).to_be_visible(timeout=SOON_MS)
    expect(page.locator(".mosaic-saved")).to_contain_text("cancelled")
    expect(page.get_by_text("Error displaying widget")).to_be_hidden()
