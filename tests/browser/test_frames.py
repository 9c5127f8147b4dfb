"""Frames in JupyterLab: live on a canvas, labelled with their own numbers, saved bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from browser.frames import SHOW, canvas_pixels, counters, flows, menu, notice, rests, saved, start, view
from browser.jupyter import COMPUTING, JupyterLab, opened
from peers.painter import paint, scenes, visible_bits
from PIL import Image
from playwright.sync_api import Page, expect
from support import wait_until


def pause(page: Page) -> None:
    """Pause the view and wait until frames in flight, and their numbers, are drawn."""
    view(page).get_by_role("button", name="Pause").click()
    wait_until(lambda: (before := counters(page)["drawn"]) and not page.wait_for_timeout(300)
               and counters(page)["drawn"] == before)  # fmt: skip


def test_frames_move_while_a_cell_computes_with_their_own_numbers_and_are_turned_off_and_on(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start(folder, (400, 600, 3), pattern="flat")
    notebook = opened(page, jupyterlab, folder, SHOW, COMPUTING)
    notebook.run(0)
    flows(page)
    notebook.start(1)
    wait_until((folder / "busy").exists)
    flows(page)
    pause(page)
    rests(page)
    view(page).get_by_role("button", name="Play").click()
    flows(page)
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    (folder / "go").touch()

    hud = view(page).locator(".mosaic-hud")
    expect(hud).to_contain_text("painter")
    mask = visible_bits((400, 600, 3))
    for _ in range(3):
        pause(page)
        number, text = view(page).evaluate("""element => {
            const canvas = element.querySelector("canvas"), bits = [];
            const side = Math.floor(canvas.width / 32);
            const row = canvas.getContext("2d").getImageData(0, 2, canvas.width, 1).data;
            for (let bit = 0; bit < 32; bit++) bits.push(row[4 * (bit * side + side / 2 | 0)] > 127 ? 1 : 0);
            return [bits.reduce((sum, on, bit) => sum + on * 2 ** bit, 0), element.querySelector(".mosaic-hud-text").textContent];
        }""")  # noqa: E501
        assert text == f"frame {number}" and number <= mask
        view(page).get_by_role("button", name="Play").click()
    view(page).get_by_role("button", name="HUD").click()
    expect(hud).to_be_hidden()

    menu(page).get_by_role("button", name="Off").click()
    expect(notice(page)).to_contain_text("frames are off")
    rests(page)
    opened_menu = menu(page)
    off, on = (opened_menu.get_by_role("button", name=name, exact=True) for name in ("Off", "On"))
    expect(off).to_have_attribute("aria-pressed", "true")
    expect(on).to_have_attribute("aria-pressed", "false")
    on.click()
    flows(page)
    expect(notice(page)).to_be_hidden()


def test_what_is_drawn_and_saved_is_the_frame_bit_for_bit(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    shape = (48, 64, 3)
    start(folder, shape, pattern="noise", max_fps=2)
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    flows(page)
    view(page).get_by_role("button", name="Pause").click()
    rests(page)
    number = int(view(page).locator(".mosaic-hud-text").inner_text().removeprefix("frame "))
    noise = scenes("noise", shape)
    published = noise[number % len(noise)]
    paint(published, shape, number)
    pixels = np.frombuffer(published, np.uint8).reshape(shape)
    file = Image.open(saved(page, "Save this frame as PNG").path())
    assert np.array_equal(np.asarray(file).reshape(shape), pixels)
    assert np.array_equal(canvas_pixels(page)[:, :, :3], pixels)
