"""Frames as users watch them in JupyterLab: what runs publish moves on a canvas, and can be kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser.frames import (
    BUSY,
    SHOW,
    SOON_MS,
    canvas_pixels,
    counters,
    flows,
    menu,
    notice,
    opened,
    rests,
    saved,
    shown,
    start,
    view,
)
from browser.jupyter import JupyterLab
from peers.painter import paint, scenes, visible_bits
from PIL import Image, ImageSequence
from playwright.sync_api import Page, expect
from support import wait_until

SHOW_ALL = """import mosaic_lab as mosaic
wall = mosaic.frame_wall(sorted(mosaic.Lab().runs, key=lambda run: run.label[-1]))
wall"""
COMPUTING = """\
import pathlib
pathlib.Path('busy').touch()
while not pathlib.Path('go').exists():
    sum(range(1000))"""


@pytest.mark.parametrize(
    "cell", [pytest.param(BUSY, marks=pytest.mark.extended), COMPUTING], ids=["sleeping", "computing"]
)
def test_frames_move_while_another_cell_runs(
    page: Page, jupyterlab: JupyterLab, folder: Path, cell: str
) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW, cell)
    notebook.run(0)
    flows(page)
    notebook.start(1)
    wait_until((folder / "busy").exists)
    flows(page)
    pause = view(page).get_by_role("button", name="Pause")
    pause.click()
    wait_until(lambda: (before := counters(page)["drawn"]) and not page.wait_for_timeout(300)
               and counters(page)["drawn"] == before)  # fmt: skip
    rests(page)
    view(page).get_by_role("button", name="Play").click()
    flows(page)
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")


def test_the_numbers_on_a_frame_are_its_own_and_frames_are_turned_off_and_on(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start(folder, (400, 600, 3), pattern="flat")
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    flows(page)
    hud = view(page).locator(".mosaic-hud")
    expect(hud).to_contain_text("painter")
    mask = visible_bits((400, 600, 3))
    for _ in range(5):
        number, text = view(page).evaluate("""element => {
            const canvas = element.querySelector("canvas"), bits = [];
            const side = Math.floor(canvas.width / 32);
            const row = canvas.getContext("2d").getImageData(0, 2, canvas.width, 1).data;
            for (let bit = 0; bit < 32; bit++) bits.push(row[4 * (bit * side + side / 2 | 0)] > 127 ? 1 : 0);
            return [bits.reduce((sum, on, bit) => sum + on * 2 ** bit, 0), element.querySelector(".mosaic-hud-text").textContent];
        }""")  # noqa: E501
        assert text == f"frame {number}" and number <= mask
    view(page).get_by_role("button", name="HUD").click()
    expect(hud).to_be_hidden()

    menu(page).get_by_role("button", name="Off").click()
    expect(notice(page)).to_contain_text("frames are off", timeout=SOON_MS)
    rests(page)
    opened_menu = menu(page)
    off, on = (opened_menu.get_by_role("button", name=name, exact=True) for name in ("Off", "On"))
    expect(off).to_have_attribute("aria-pressed", "true")
    expect(on).to_have_attribute("aria-pressed", "false")
    on.click()
    flows(page)
    expect(notice(page)).to_be_hidden(timeout=SOON_MS)


@pytest.mark.extended
def test_a_chosen_rate_is_kept(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    flows(page)
    view(page).get_by_label("Maximum frames per second").last.select_option("5")
    page.wait_for_timeout(1000)
    before = counters(page)["drawn"][0]
    page.wait_for_timeout(3000)
    assert 6 <= counters(page)["drawn"][0] - before <= 18


@pytest.mark.extended
def test_frames_use_the_room_there_is_and_small_ones_stay_sharp(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start(folder, label="painter grid seed 1")
    start(folder, (400, 600, 3), pattern="flat", label="painter flat seed 2")
    notebook = opened(page, jupyterlab, folder, SHOW, "lab.runs[1].frames()")
    notebook.run(0)
    flows(page)

    def size(index: int = 0) -> tuple[float, str]:
        found = (
            view(page, index)
            .locator("canvas")
            .evaluate("c => [c.getBoundingClientRect().width / c.width, getComputedStyle(c).imageRendering]")
        )
        return round(found[0], 3), found[1]

    def choose(name: str, index: int = 0) -> None:
        view(page, index).get_by_role("button", name=name, exact=True).click()

    assert size() == (6, "pixelated")  # 60% of the window's 900 pixels
    choose("1×")
    assert size() == (1, "pixelated")
    choose("Fit")
    assert size() == (round(540 / 84, 3), "auto")
    choose("Pixel")
    assert size() == (6, "pixelated")
    choose("S")
    assert size() == (3, "pixelated")
    choose("L")
    assert size() == (9, "pixelated")

    notebook.run(1)
    flows(page, 1)
    wide = view(page, 1).locator(".mosaic-stage").evaluate("stage => Math.floor(stage.clientWidth) - 2")
    assert size(1)[0] == round(min(540 / 400, wide / 600), 3)
    choose("S", 1)
    assert size(1)[0] == round(315 / 400, 3)
    page.set_viewport_size({"width": 900, "height": 600})
    wait_until(lambda: size(1)[0] == round(210 / 400, 3))
    picture, hud = (view(page, 1).locator(part).bounding_box() for part in ("canvas", ".mosaic-hud"))
    assert picture is not None and hud is not None
    assert hud["y"] >= picture["y"] + picture["height"], "the text stands below the picture"
    edge = view(page, 1).locator("canvas").evaluate("canvas => getComputedStyle(canvas).boxShadow")
    assert edge != "none", "a white picture has an edge"


@pytest.mark.parametrize("channels", [3, *(pytest.param(n, marks=pytest.mark.extended) for n in (1, 4))])
def test_what_is_drawn_and_saved_is_the_frame_bit_for_bit(
    page: Page, jupyterlab: JupyterLab, folder: Path, channels: int
) -> None:
    shape = (48, 64, channels)
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
    drawn = canvas_pixels(page)
    expected = {1: pixels.repeat(3, 2), 3: pixels, 4: pixels[:, :, :3]}[channels]
    file = Image.open(saved(page, "Save this frame as PNG").path())
    assert np.array_equal(np.asarray(file).reshape(shape), pixels)
    if channels < 4:  # a canvas keeps colours multiplied by their opacity
        assert np.array_equal(drawn[:, :, :3], expected)


@pytest.mark.extended
def test_the_last_seconds_are_saved_as_a_film(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    import av

    start(folder)
    record = "print(wall.record('kept.gif', seconds=2).stat().st_size > 0)"
    notebook = opened(page, jupyterlab, folder, SHOW, record)
    notebook.run(0)
    flows(page)
    wait_until(lambda: counters(page)["drawn"][0] > 30)
    menu(page)
    gif = saved(page, "GIF")
    assert gif.suggested_filename.endswith(".gif")
    with Image.open(gif.path()) as animation:
        assert sum(1 for _ in ImageSequence.Iterator(animation)) > 10
    menu(page)
    film = saved(page, "MP4")
    with av.open(str(film.path())) as container:
        assert sum(1 for _ in container.decode(video=0)) > 10
    expect(view(page).locator(".mosaic-message")).to_contain_text("Saved")
    notebook.run(1)
    expect(notebook.output(1)).to_have_text("True")


@pytest.mark.extended
def test_two_views_watch_one_run_each_for_itself(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    start(folder)
    notebook = opened(page, jupyterlab, folder, SHOW, "wall", "lab.runs[0].frames(fps=5)")
    for cell in range(3):
        notebook.run(cell)
    expect(page.locator(".mosaic-frames")).to_have_count(3)
    for index in range(3):
        view(page, index).scroll_into_view_if_needed()
        flows(page, index)
    view(page, 1).scroll_into_view_if_needed()
    view(page, 1).get_by_role("button", name="Pause").click()
    stopped = wait_until(lambda: shown(page, 1))
    flows(page, 2)
    page.wait_for_timeout(500)
    stopped = shown(page, 1)
    view(page, 0).scroll_into_view_if_needed()
    flows(page, 0)
    assert shown(page, 1) == stopped


@pytest.mark.extended
def test_a_wall_shows_runs_of_different_frames(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    start(folder, label="painter grid seed 1")
    start(folder, (400, 600, 3), pattern="flat", label="painter flat seed 2")
    start(folder, (240, 320, 3), pattern="noise", label="painter noise seed 3")
    start(folder, (128, 128, 1), sizes=[[128, 128, 1], [64, 96, 4]], label="painter grid seed 4")
    notebook = opened(page, jupyterlab, folder, SHOW_ALL)
    notebook.run(0)
    tiles = view(page).locator(".mosaic-tile")
    expect(tiles).to_have_count(4)
    expect(tiles.locator(".mosaic-title")).to_have_text(
        ["grid seed 1", "flat seed 2", "noise seed 3", "grid seed 4"]
    )
    for tile in range(4):
        flows(page, tile=tile)
    wait_until(lambda: canvas_pixels(page, tile=3).shape == (64, 96, 4))
    wait_until(lambda: canvas_pixels(page, tile=3).shape == (128, 128, 4))
