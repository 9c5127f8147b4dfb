"""Frames resume by themselves after a reload; without a kernel, the last frame remains as a saved picture."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from pathlib import Path

import numpy as np
from browser.frames import SHOW, flows, notice, saved, shown, start, view
from browser.jupyter import JupyterLab, opened
from peers.painter import painted
from PIL import Image
from playwright.sync_api import Page, expect
from support import wait_until


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
    expect(notice(page)).to_contain_text("cancelled")
    expect(view(page).locator("canvas")).to_be_visible()
    saved(page, "Save this frame as PNG")
    expect(picture).to_be_attached()
    expect(picture).to_be_hidden()  # the live view is shown instead
    number = shown(page)
    path = folder / "work.ipynb"

    def saved_number() -> int:
        page.keyboard.press("Control+s")
        pngs = re.findall(r'"image/png": "([^"]+)"', path.read_text())
        if not pngs:  # the file is being written
            return -1
        png = base64.b64decode(pngs[-1].replace("\\n", ""))
        pixels = np.asarray(Image.open(BytesIO(png)).convert("RGB"))
        pixels = pixels[1:-1, 1:-1]  # without the border
        return painted(pixels.tobytes(), pixels.shape)

    page.keyboard.press("Control+s")
    wait_until(lambda: "image/png" in path.read_text())
    wait_until(lambda: saved_number() == number)
    notebook.restart_kernel()
    page.reload()
    expect(picture).to_be_visible()
    expect(page.locator(".mosaic-saved")).to_contain_text("cancelled")
    expect(page.get_by_text("Error displaying widget")).to_be_hidden()
