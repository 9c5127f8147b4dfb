"""The workspace tab: charts of selected runs in JupyterLab, read through its server, without a kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.jupyter import JupyterLab, Notebook
from browser.server import serving
from many_runs import write_runs
from playwright.sync_api import Browser, Locator, Page, expect
from written_films import write_film

from mosaic_lab.runs import Supervisor

OPEN = """async (args) => {
    await jupyterapp.restored;
    await jupyterapp.commands.execute("mosaic-lab:open-workspace", args);
}"""
SOON_MS = 20_000
HTML = "<img src=x onerror=window.hacked=1><b>bold</b>"


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[JupyterLab]:
    root = tmp_path_factory.mktemp("jupyter")
    with serving(root, "--LabApp.expose_app_in_browser=True") as server:
        yield server


@pytest.fixture
def store(folder: Path) -> Path:
    return folder / "mosaic_runs"


def opened(page: Page, jupyterlab: JupyterLab, store: Path, count: int | None = None) -> Locator:
    page.goto(jupyterlab.address(f"lab/workspaces/{store.parent.name}"))
    page.wait_for_function("window.jupyterapp")
    runs = sorted(path.parent.name for path in store.glob("*/config.json"))[:count]
    page.evaluate(OPEN, {"store": str(store), "runs": runs})
    return page.locator(".mosaic-workspace")


def chart(workspace: Locator, metric: str) -> Locator:
    return workspace.locator(f'.mosaic-chart[data-metric="{metric}"]')


def plot(workspace: Locator, metric: str) -> Locator:
    return chart(workspace, metric).locator(".u-over")


def values(workspace: Locator) -> dict[str, float]:
    """What stands beside the pointer: values by the names of runs."""
    rows = workspace.locator(".mosaic-values div:has(b)")
    expect(rows.first).to_be_visible(timeout=SOON_MS)
    found = [text.split("\n") for text in rows.all_inner_texts()]
    return {name: float(value.replace(",", "").replace("−", "-")) for name, value in found}


def hover(page: Page, over: Locator, part: float) -> None:
    expect(over).to_be_visible(timeout=SOON_MS)
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)


def brush(page: Page, over: Locator, start: float, end: float) -> None:
    box = over.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], middle)
    page.mouse.move(box["x"] + end * box["width"], middle)
    page.mouse.up()


def place(workspace: Locator) -> float:
    text = workspace.locator(".mosaic-values-place").inner_text()
    return float(re.sub("[^0-9.]", "", text))


def returns(folder: Path) -> dict[int, float]:
    """The returns in a run's telemetry by their steps."""
    lines = map(json.loads, (folder / "telemetry.jsonl").read_text().splitlines())
    points = [line["payload"] for line in lines if line.get("event") == "metrics"]
    return {point["step"]: point["values"]["episode_return"] for point in points}


def test_values_at_the_cursor_are_those_of_the_runs(page: Page, jupyterlab: JupyterLab, store: Path) -> None:
    write_runs(store, 5, points=200)
    workspace = opened(page, jupyterlab, store)
    over = plot(workspace, "episode_return")
    expect(over).to_be_visible(timeout=SOON_MS)
    page.wait_for_timeout(500)
    hover(page, over, 0.35)
    shown = values(workspace)
    at = place(workspace)
    known = {run.label: returns(run.path) for run in Supervisor(store).runs()}
    assert len(shown) == 5
    assert sorted(shown.values(), reverse=True) == list(shown.values()), "the greatest first"
    for name, value in shown.items():
        points = known[name]
        nearest = min(points, key=lambda step: abs(step - at))
        assert points[nearest] == pytest.approx(value, rel=1e-3), name
    # The same by keys, as text for a screen reader.
    chart(workspace, "episode_return").get_by_role("application").focus()
    for key in ("ArrowRight", *["ArrowUp"] * 5, "ArrowDown"):
        page.keyboard.press(key)
    expect(chart(workspace, "episode_return").locator("[aria-live]")).to_contain_text("2 of 5")


def test_zoom_is_linked_and_the_state_survives_a_reload(
    page: Page, jupyterlab: JupyterLab, store: Path
) -> None:
    write_runs(store, 5, points=200)
    workspace = opened(page, jupyterlab, store)
    expect(plot(workspace, "losses/value_loss")).to_be_visible(timeout=SOON_MS)
    hover(page, plot(workspace, "losses/value_loss"), 0.99)
    assert place(workspace) > 19_000
    brush(page, plot(workspace, "episode_return"), 0.2, 0.5)
    hover(page, plot(workspace, "losses/value_loss"), 0.99)
    page.wait_for_timeout(300)
    assert place(workspace) == pytest.approx(10_000, abs=500), "the other chart shows the same part"
    workspace.get_by_role("button", name="log", exact=True).first.click()
    workspace.locator(".mosaic-runs tbody button").first.click()
    move = workspace.get_by_role("button", name=re.compile("Move the chart losses"))
    move.focus()
    page.keyboard.press("ArrowLeft")
    titles = workspace.locator(".mosaic-chart h3")
    expect(titles.first).to_have_text("losses/value_loss")
    page.wait_for_timeout(1500)  # JupyterLab writes its state after a while

    page.reload()
    expect(titles.first).to_have_text("losses/value_loss", timeout=SOON_MS)
    expect(workspace.get_by_role("button", name="Reset zoom")).to_be_enabled()
    log = chart(workspace, "episode_return").get_by_role("button", name="log", exact=True)
    expect(log).to_have_attribute("aria-pressed", "true")
    expect(workspace.locator(".mosaic-runs tbody [aria-pressed=false]")).to_have_count(1)
    hover(page, plot(workspace, "losses/value_loss"), 0.5)
    assert len(values(workspace)) == 4


def test_runs_are_grouped_filtered_and_saved_and_their_names_are_text(
    page: Page, jupyterlab: JupyterLab, store: Path
) -> None:
    folders = write_runs(store, 10, points=100)
    launch: dict[str, Any] = json.loads((folders[0] / "launch.json").read_text())
    (folders[0] / "launch.json").write_text(json.dumps({**launch, "label": HTML}))
    workspace = opened(page, jupyterlab, store)
    expect(workspace.get_by_role("rowheader", name=HTML)).to_be_visible(timeout=SOON_MS)
    over = plot(workspace, "episode_return")
    hover(page, over, 0.3)
    assert HTML in values(workspace)
    assert page.evaluate("window.hacked") is None

    with page.expect_download() as download:
        chart(workspace, "episode_return").get_by_role("button", name="More of episode_return").click()
        workspace.get_by_role("button", name="CSV").click()
    assert "episode_return" in Path(download.value.path()).read_text()

    workspace.get_by_role("button", name="Group by …").click()
    workspace.get_by_role("checkbox", name="of all runs").check()
    expect(workspace.get_by_role("button", name="Mean of all runs")).to_be_visible()
    page.wait_for_timeout(500)
    hover(page, over, 0.3)
    assert list(values(workspace)) == ["mean of 10"]
    workspace.get_by_role("checkbox", name="learning_rate").check()
    page.keyboard.press("Escape")
    expect(workspace.get_by_role("button", name="Mean by learning_rate")).to_be_visible()
    page.wait_for_timeout(500)
    hover(page, over, 0.3)
    assert sorted(values(workspace)) == [
        "learning_rate=0.0001 · mean of 5",
        "learning_rate=0.0003 · mean of 5",
    ]

    workspace.get_by_role("button", name="Parallel coordinates").click()
    drawn = workspace.get_by_role("img", name="Parallel coordinates").locator("text")
    assert drawn.evaluate_all(
        """labels => labels.every(label =>
            label.getBoundingClientRect().bottom <= label.ownerSVGElement.getBoundingClientRect().bottom)"""
    )
    low = workspace.get_by_role("textbox", name="Filter by learning_rate: from")
    low.fill("0.0002")
    low.press("Enter")
    expect(workspace.get_by_text("5 of 10 runs")).to_be_visible()
    workspace.get_by_role("button", name="Scatter").click()
    expect(workspace.locator("circle[r='4.5']")).to_have_count(5)


def test_the_workspace_in_a_cell_is_saved_as_a_picture(
    page: Page, jupyterlab: JupyterLab, store: Path
) -> None:
    write_runs(store, 5, points=100)
    name = f"{store.parent.name}/work.ipynb"
    cells = ["import mosaic_lab as mosaic\nmosaic.workspace(mosaic.Lab().runs)"]
    jupyterlab.write_notebook(name, cells)
    notebook = Notebook(page, jupyterlab, name)
    notebook.run(0)
    workspace = notebook.cell(0).locator(".mosaic-workspace")
    expect(plot(workspace, "episode_return")).to_be_visible(timeout=SOON_MS)
    page.wait_for_timeout(500)
    hover(page, plot(workspace, "episode_return"), 0.3)
    assert len(values(workspace)) == 5
    expect(notebook.cell(0).locator("img[src^='data:image/png']")).to_be_attached(timeout=SOON_MS)
    saved = notebook.cell(0).locator(".mosaic-saved")
    expect(saved).to_be_hidden()  # it gives way to the live view
    before = notebook.cell(0).locator("img[src^='data:image/png']").get_attribute("src")
    workspace.get_by_role("button", name="Parallel coordinates").click()
    workspace.get_by_role("textbox", name="Filter by seed: from").fill("3")
    page.keyboard.press("Enter")
    expect(saved).to_contain_text("2 of 5 runs", timeout=SOON_MS)
    expect(notebook.cell(0).locator("img[src^='data:image/png']")).not_to_have_attribute("src", before or "")


def test_a_click_on_a_chart_plays_the_film_of_that_moment(
    page: Page, jupyterlab: JupyterLab, store: Path
) -> None:
    filmed, other = write_runs(store, 2)
    steps = sorted(Supervisor(store).run(filmed.name).metrics("episode_return")["step"])
    early, late = steps[len(steps) // 4], steps[3 * len(steps) // 4]
    for step in (early, late):
        write_film(filmed, int(step))
    workspace = opened(page, jupyterlab, store)
    over = plot(workspace, "episode_return")
    films, player = workspace.get_by_role("region", name="Films"), workspace.locator(".mosaic-film-player")
    choice = films.get_by_label("The run whose films are shown")

    def click(part: float) -> None:
        hover(page, over, part)
        page.mouse.click(*pointer(over, part))
        expect(films).to_be_visible()
        choice.select_option(filmed.name)

    click(0.3)
    expect(player).to_contain_text(f"step {early:,}", timeout=SOON_MS)
    expect(player.locator("video")).to_be_visible(timeout=SOON_MS)
    workspace.locator(".mosaic-settings select").select_option("relative")
    click(0.7)
    expect(player).to_contain_text(f"step {late:,}", timeout=SOON_MS)

    choice.select_option(other.name)
    expect(films).to_contain_text("No films: make them with lab.make_films(lab.run(")
    films.get_by_role("button", name="Close the films").click()
    expect(films).to_have_count(0)


def pointer(over: Locator, part: float) -> tuple[float, float]:
    box = over.bounding_box()
    assert box is not None
    return box["x"] + part * box["width"], box["y"] + box["height"] / 2
