"""Helpers for browser tests of frames: start a painter, find its view, read the pixels of the canvas."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
from mosaic_contract.fastlane import FrameReader
from peers.painter import painted
from playwright.sync_api import Download, Locator, Page, expect
from support import start_painter, wait_until

from mosaic_lab.runs import Run, Supervisor

SHOW = """import mosaic_lab as mosaic
lab = mosaic.Lab()
wall = lab.runs[0].frames()
wall"""
Shape = tuple[int, int, int]
GRID: Shape = (84, 84, 3)


def start(folder: Path, shape: Shape = GRID, **settings: Any) -> Run:
    """Start a real worker that publishes numbered frames of this shape until it is stopped."""
    settings = {"sizes": [list(shape)], "pattern": "grid", "label": "painter grid", **settings}
    return start_painter(Supervisor(folder / "mosaic_runs", max_running=9), **settings)


def view(page: Page, index: int = 0) -> Locator:
    return page.locator(".mosaic-frames").nth(index)


def counters(page: Page, index: int = 0) -> dict[str, Any]:
    """Counters of the view: `drawn` per tile, `ages`, `reopened`."""
    found = view(page, index).evaluate("element => element.mosaicFrames")
    assert isinstance(found, dict)
    return found


def flows(page: Page, index: int = 0, tile: int = 0) -> None:
    """Assert that new frames are drawn and that the canvas changes."""
    try:
        expect(view(page, index).locator("canvas").nth(tile)).to_be_visible()
        before, number = counters(page, index)["drawn"][tile], shown(page, index, tile)
        wait_until(lambda: counters(page, index)["drawn"][tile] > before + 2)
        wait_until(lambda: shown(page, index, tile) != number)
    except AssertionError as error:
        raise AssertionError(
            f"no new frames: {counters(page, index)}\n{view(page, index).inner_text()}"
        ) from error


def rests(page: Page) -> None:
    """Assert that no frame is drawn for a second, long enough for many."""
    before = counters(page)["drawn"]
    page.wait_for_timeout(1000)
    assert counters(page)["drawn"] == before


def canvas_pixels(page: Page, index: int = 0, tile: int = 0) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Pixels of a tile's canvas: height × width × 4."""
    canvas = view(page, index).locator("canvas").nth(tile)
    width, height, data = canvas.evaluate("""canvas => {
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let text = "";
        for (const byte of data) text += String.fromCharCode(byte);
        return [canvas.width, canvas.height, btoa(text)];
    }""")
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)


def shown(page: Page, index: int = 0, tile: int = 0) -> int:
    """Number painted into the frame on the canvas."""
    pixels = canvas_pixels(page, index, tile)
    return painted(pixels.tobytes(), pixels.shape)  # type: ignore[arg-type]


def watched(run: Run) -> bool:
    """Whether the worker renders for a viewer: the newest frame in its ring changes."""
    reader = FrameReader(run.path)
    first = reader.read()
    try:
        wait_until(lambda: (frame := reader.read()) is not None and frame is not first, 1.5)
    except AssertionError:
        return False
    finally:
        reader.close()
    return True


def notice(page: Page) -> Locator:
    """Notice on the first tile."""
    return view(page).locator(".mosaic-tile > .mosaic-notice").first


def menu(page: Page, index: int = 0) -> Locator:
    view(page, index).locator(".mosaic-tile-tools summary").first.click()
    return view(page, index).locator(".mosaic-menu-list").first


def saved(page: Page, name: str) -> Download:
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).first.click()
    return download.value
