"""Live panels in JupyterLab: charts grow and controls respond while a cell runs."""

from __future__ import annotations

import base64
import csv
import re
from pathlib import Path

import nbformat
import pytest
from browser.jupyter import COMPUTING, JupyterLab, Notebook, opened, start_long
from playwright.sync_api import Locator, Page, expect
from support import start_painter, wait_until

from mosaic_lab.runs import Supervisor

SHOW = """import mosaic_lab as mosaic
lab = mosaic.Lab()
run = lab.runs[0]
run"""
SHOW_GROUP = """import mosaic_lab as mosaic
group = mosaic.RunGroup(mosaic.Lab().runs)
group.chart("episode_return")"""
FIGURE = ".bqplot .curve path.line"
ANSWERED = re.compile("stopping|cancelled")


def panel(page: Page) -> Locator:
    return page.locator(".mosaic-panel")


def state(page: Page) -> Locator:
    return panel(page).locator(".mosaic-chips .mosaic-chip")


def drawn(page: Page) -> str:
    """SVG path of the topmost line."""
    expect(panel(page).locator(FIGURE).last).to_be_attached()
    return panel(page).locator(FIGURE).last.get_attribute("d") or ""


def grows(page: Page) -> None:
    """Assert that new points change the line. Its path need not get longer: long runs are decimated."""
    before = drawn(page)
    wait_until(lambda: drawn(page) != before)


def choose(page: Page, metric: str) -> None:
    panel(page).locator(".mosaic-menu summary").click()
    panel(page).locator(".mosaic-menu-row", has_text=metric).click()
    page.keyboard.press("Escape")


def cell_is_running(notebook: Notebook, index: int) -> None:
    expect(notebook.cell(index).locator(".jp-InputPrompt")).to_have_text("[*]:")


def test_everything_answers_while_a_cell_computes(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    run = start_long(folder, malformed=3)
    notebook = opened(page, jupyterlab, folder, SHOW, COMPUTING)
    notebook.run(0)
    notebook.start(1)
    shown = panel(page)
    expect(shown.locator(".mosaic-title")).to_have_text(run.label)
    expect(state(page)).to_have_text("running")
    expect(shown.locator(".mosaic-menu summary")).to_have_text("episode_return")
    grows(page)
    expect(shown.locator(".mosaic-numbers")).to_contain_text("steps/s")
    expect(shown.locator(".mosaic-notices")).to_contain_text("3 telemetry lines were not JSON messages")

    choose(page, "losses/value_loss")
    listed = "common to all workers|episode_return|specific to this library|charts/SPS|charts/learning_rate"
    assert "|".join(shown.locator(".mosaic-menu-list > *").all_text_contents()).startswith(listed)
    items = shown.locator(".mosaic-legend-item")
    expect(items).to_have_count(2)
    expect(shown.locator(FIGURE)).to_have_count(2)
    items.nth(0).click()
    expect(shown.locator(FIGURE)).to_have_count(1)
    expect(items.nth(0)).to_have_attribute("aria-pressed", "false")
    items.nth(0).click()
    expect(shown.locator(FIGURE)).to_have_count(2)
    shown.get_by_role("button", name="Episodes").click()
    expect(shown.locator(".axislabel", has_text="episodes").last).to_be_attached()
    shown.get_by_role("button", name="log", exact=True).click()
    expect(shown.get_by_role("button", name="log", exact=True)).to_have_attribute("aria-pressed", "true")
    system = shown.locator("summary", has_text="System")
    expect(system).to_contain_text(re.compile(r"CPU [\d.]+%, memory [\d.]+ MB, disk [\d.]+ MB"))
    expect(shown.locator(".bqplot")).to_have_count(2)
    system.click()
    expect(shown.locator(".bqplot")).to_have_count(5)
    system.click()
    expect(shown.locator(".bqplot")).to_have_count(2)
    shown.locator(".mosaic-footer summary").click()
    expect(shown.locator(".mosaic-footer pre")).to_contain_text("update")

    shown.get_by_role("button", name="Stop").click()
    expect(state(page)).to_have_text(ANSWERED)
    expect(state(page)).to_have_text("cancelled")
    cell_is_running(notebook, 1)
    assert run.state == "cancelled"


@pytest.mark.extended
def test_a_chart_without_lines_says_what_happens_and_shows_no_scale(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    start_long(folder, after=str(folder / "begin"))
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    shown = panel(page)
    instead, figure = shown.locator(".mosaic-waiting"), shown.locator(".bqplot")
    doing = re.compile(r"^importing libraries and building the environment, \d+ s$")
    expect(instead).to_have_text(doing)
    expect(shown.locator(".mosaic-reason")).to_have_text(doing)
    before = instead.inner_text()
    wait_until(lambda: instead.inner_text() != before)  # the seconds are counted
    expect(figure).to_be_hidden()
    (folder / "begin").touch()
    expect(figure).to_be_visible()
    expect(instead).to_be_empty()
    grows(page)
    assert 2 <= shown.locator(".bqplot .axis").nth(1).locator(".tick").count() <= 7
    shown.locator(".mosaic-legend-item").click()
    expect(instead).to_contain_text("Every line is hidden")
    expect(figure).to_be_hidden()
    shown.locator(".mosaic-legend-item").click()
    expect(figure).to_be_visible()


def test_a_group_shows_its_mean_or_its_runs(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    for seed in (1, 2, 3):
        start_long(folder, seed=seed)
    notebook = opened(page, jupyterlab, folder, SHOW_GROUP)
    notebook.run(0)
    shown = panel(page)
    expect(shown.locator(".mosaic-title")).to_have_text("learner ppo CartPole-v1")
    expect(state(page)).to_have_text("3 running")
    items = shown.locator(".mosaic-legend-item")
    expect(items).to_contain_text("mean of 3")
    expect(shown.locator(FIGURE)).to_have_count(4)  # three thin lines and their mean
    grows(page)
    shown.get_by_role("button", name="Runs").click()
    expect(items).to_have_count(3)
    expect(items).to_contain_text(["seed 1", "seed 2", "seed 3"])
    shown.get_by_role("button", name="Stop all").click()
    expect(state(page)).to_have_text(["3 cancelled"])


def test_a_run_that_ends_is_saved_zoomed_reset_and_shown_without_a_kernel(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    run = start_long(folder, seconds=4, rows=300)
    notebook = opened(page, jupyterlab, folder, SHOW, "print(run.wait())")
    notebook.run(0)
    notebook.run(1)
    shown = panel(page)
    expect(state(page)).to_have_text("completed")
    expect(shown.get_by_role("button", name="Stop")).to_be_hidden()
    drawn(page)

    with page.expect_download() as download:
        shown.get_by_role("button", name="CSV").click()
    with Path(download.value.path()).open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert {row["name"] for row in rows} == {"episode_return"}
    assert [float(row["value"]) for row in rows] == run.metrics("episode_return")["value"].tolist()

    with page.expect_download() as download:
        shown.get_by_role("button", name="PNG").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    assert download.value.suggested_filename == "learner-ppo-CartPole-v1-seed-1_episode-return.png"

    ticks = shown.locator(".bqplot .axis .tick text")
    before = ticks.all_inner_texts()
    shown.locator("[title^='Pan and zoom']").click()
    expect(shown.locator("[title^='Pan and zoom']")).to_have_attribute("aria-pressed", "true")
    figure = shown.locator(".bqplot").bounding_box()
    assert figure is not None
    page.mouse.move(figure["x"] + figure["width"] / 2, figure["y"] + figure["height"] / 2)

    def zoomed() -> bool:
        page.mouse.wheel(0, -200)
        return ticks.all_inner_texts() != before

    wait_until(zoomed)
    shown.get_by_role("button", name="Reset the view").click()
    wait_until(lambda: ticks.all_inner_texts() == before)

    still, picture = page.locator(".mosaic-saved"), page.locator(".jp-RenderedImage img")
    expect(picture).to_be_attached()
    expect(still).to_be_hidden()  # the live panel is shown instead
    expect(picture).to_be_hidden()
    page.keyboard.press("Control+s")
    path = folder / "work.ipynb"
    wait_until(lambda: any("image/png" in data for data in bundles(path)))
    [png] = [data["image/png"] for data in bundles(path) if "image/png" in data]
    assert base64.b64decode(png).startswith(b"\x89PNG")
    notebook.restart_kernel()
    page.reload()
    expect(still).to_be_visible()
    expect(still).to_contain_text("completed")
    expect(picture).to_be_visible()
    expect(page.get_by_text("Error displaying widget")).to_be_hidden()


@pytest.mark.extended
def test_ended_runs_have_no_chart_without_points_and_no_fold_of_frames_that_nobody_saw(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    failed = start_long(folder, fail_at=0)
    painted = start_painter(Supervisor(folder / "mosaic_runs"), frames=1, free=True)
    wait_until(lambda: failed.finished and painted.finished)
    lab = "import mosaic_lab as mosaic\nlab = mosaic.Lab()\n"
    shown = [f"lab.run({run.id!r})" for run in (failed, painted)]
    notebook = opened(page, jupyterlab, folder, lab + shown[0], shown[1])
    for cell in range(2):
        notebook.run(cell)
    expect(state(page).first).to_have_text("failed")
    first = panel(page).first
    expect(first.locator(".mosaic-notices")).to_contain_text("the reward became negative infinity")
    expect(first.locator(".bqplot")).to_be_hidden()
    expect(first.locator(".mosaic-controls")).to_be_hidden()
    expect(panel(page).last.locator(".mosaic-title").first).to_be_visible()
    expect(panel(page).last.locator(".mosaic-collapsible", has_text="Frames")).to_be_hidden()


def bundles(path: Path) -> list[dict[str, str]]:
    """MIME bundles of all outputs in a saved notebook."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except nbformat.reader.NotJSONError:  # the file is being written
        return []
    return [output.get("data", {}) for cell in notebook.cells for output in cell.outputs]
