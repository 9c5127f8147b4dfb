"""Films in a run's live panel: the strip below the chart, and the film chosen by a click on the curve."""

from __future__ import annotations

from pathlib import Path

from browser.jupyter import BUSY, JupyterLab, opened
from playwright.sync_api import Locator, Page, expect
from support import start_learner
from written_films import write_film

from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.films import checkpoint_film_path

SHOW = "import mosaic_lab as mosaic\nrun = mosaic.Lab().runs[0]\nrun"
STEPS = [20_000, 40_000, 60_000, 80_000, 100_000]


def test_films_of_a_run_play_in_its_panel_while_a_cell_runs(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    run = start_learner(Supervisor(folder / "mosaic_runs"), seconds=1).wait(60)
    for step in STEPS[:4]:
        write_film(run.path, step)
    notebook = opened(page, jupyterlab, folder, SHOW, BUSY)
    notebook.run(0)
    strip, player = page.locator(".mosaic-film-row button"), page.locator(".mosaic-film-player")
    head = page.locator(".mosaic-collapsible summary").filter(has_text="Films")
    expect(head).to_be_visible()
    expect(strip).to_have_count(0)

    notebook.start(1)
    head.click()
    expect(strip).to_have_count(4)
    expect(strip.nth(1)).to_have_accessible_name("step 40,000: return 40, 20 steps")
    strip.nth(1).click()
    video = player.locator("video")
    expect(video).to_be_visible()
    page.wait_for_function("() => document.querySelector('.mosaic-film-player video').currentTime > 0")
    player.get_by_role("button", name="Pause").click()
    expect(player.get_by_role("button", name="Play")).to_be_visible()
    picture, controls = video.bounding_box(), player.get_by_role("slider").bounding_box()
    assert picture and controls and controls["y"] >= picture["y"] + picture["height"]
    expect(player.locator("figcaption")).to_have_text("step 40,000: return 40, 20 steps")

    write_film(run.path, STEPS[4])  # a film made while the panel is open
    expect(strip).to_have_count(5)
    expect(strip.nth(1)).to_have_attribute("aria-pressed", "true")

    strip.nth(1).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(player.locator("figcaption")).to_have_text("step 100,000: return 100, 20 steps")

    chart = page.locator(".mosaic-panel .bqplot").first
    click(chart, 0.61)
    expect(player.locator("figcaption")).to_have_text("step 60,000: return 60, 20 steps")
    expect(strip.nth(2)).to_have_attribute("aria-pressed", "true")

    for axis, label, part, step in (("Episodes", "episodes", 0.79, 80), ("Time", "wall time (s)", 0.41, 40)):
        page.locator(".mosaic-controls").get_by_role("button", name=axis).click()
        expect(chart).to_contain_text(label)
        click(chart, part)
        expect(player.locator("figcaption")).to_have_text(f"step {step},000: return {step}, 20 steps")

    checkpoint_film_path(run.path, STEPS[0]).write_bytes(b"damaged")
    strip.nth(0).click()
    expect(player.get_by_role("alert")).to_contain_text("The film cannot be played")
    checkpoint_film_path(run.path, STEPS[0]).unlink()
    expect(strip).to_have_count(4)

    (folder / "go").touch()


def click(chart: Locator, part: float) -> None:
    """Click a chart at a fraction of its x axis."""
    chart.scroll_into_view_if_needed()
    axes = chart.locator(".plotarea_events").bounding_box()
    assert axes is not None
    chart.page.mouse.click(axes["x"] + part * axes["width"], axes["y"] + axes["height"] / 2)
