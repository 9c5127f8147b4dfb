"""Workspace tab: charts of selected runs in JupyterLab, read through its server without a kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browser.jupyter import JupyterLab
from many_runs import write_runs
from playwright.sync_api import Locator, Page, expect
from support import wait_until
from written_films import write_film

from mosaic_lab.runs import Supervisor

OPEN = """async (args) => {
    await jupyterapp.restored;
    await jupyterapp.commands.execute("mosaic-lab:open-workspace", args);
}"""


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
    """Return the values shown at the pointer, by run name."""
    rows = workspace.locator(".mosaic-values div:has(b)")
    expect(rows.first).to_be_visible()
    found = rows.evaluate_all(
        "rows => rows.map(row => ['span', 'b'].map(part => row.querySelector(part).innerText))"
    )
    return {name: float(value.replace(",", "").replace("−", "-")) for name, value in found}


def hover(page: Page, over: Locator, part: float) -> None:
    expect(over).to_be_visible()
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)


def hovered(page: Page, workspace: Locator, over: Locator, part: float = 0.3) -> list[str]:
    """Move the pointer onto a chart; return the names of the lines whose values appear."""
    hover(page, over, part)
    return list(values(workspace))


def brush(page: Page, over: Locator, start: float, end: float) -> None:
    box = over.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], middle)
    page.mouse.move(box["x"] + end * box["width"], middle)
    page.mouse.up()


def edges(row: Locator) -> list[float]:
    """Left edges of a row's cells."""
    return row.evaluate("row => Array.from(row.cells, cell => cell.getBoundingClientRect().left)")


def place(workspace: Locator) -> float:
    text = workspace.locator(".mosaic-values-place").inner_text()
    return float(re.sub("[^0-9.]", "", text))


def returns(folder: Path) -> dict[int, float]:
    """Returns in a run's telemetry, by step."""
    lines = map(json.loads, (folder / "telemetry.jsonl").read_text().splitlines())
    points = [line["payload"] for line in lines if line.get("event") == "metrics"]
    return {point["step"]: point["values"]["episode_return"] for point in points}


def test_values_at_the_cursor_are_those_of_the_runs(page: Page, jupyterlab: JupyterLab, store: Path) -> None:
    write_runs(store, 5, points=200)
    workspace = opened(page, jupyterlab, store)
    over = plot(workspace, "episode_return")
    expect(over).to_be_visible()
    wait_until(lambda: len(hovered(page, workspace, over, 0.35)) == 5)
    shown = values(workspace)
    at = place(workspace)
    known = {run.label: returns(run.path) for run in Supervisor(store).runs()}
    assert len(shown) == 5
    assert sorted(shown.values(), reverse=True) == list(shown.values()), "values are not in descending order"
    for name, value in shown.items():
        points = known[name]
        nearest = min(points, key=lambda step: abs(step - at))
        assert points[nearest] == pytest.approx(value, rel=1e-3), name
    name = workspace.get_by_role("rowheader").first
    name.click(click_count=3)
    assert page.evaluate("getSelection().toString().trim()") == name.inner_text()
    assert name.inner_text() in known
    # The same values by keyboard, as text for a screen reader.
    chart(workspace, "episode_return").get_by_role("application").focus()
    for key in ("ArrowRight", *["ArrowUp"] * 5, "ArrowDown"):
        page.keyboard.press(key)
    expect(chart(workspace, "episode_return").locator("[aria-live]")).to_contain_text("2 of 5")


def test_zoom_is_linked_and_the_state_survives_a_reload(
    page: Page, jupyterlab: JupyterLab, store: Path
) -> None:
    write_runs(store, 5, points=200)
    workspace = opened(page, jupyterlab, store)
    expect(plot(workspace, "losses/value_loss")).to_be_visible()
    hover(page, plot(workspace, "losses/value_loss"), 0.99)
    assert place(workspace) > 19_000
    brush(page, plot(workspace, "episode_return"), 0.2, 0.5)
    other = plot(workspace, "losses/value_loss")
    wait_until(lambda: hovered(page, workspace, other, 0.99) and abs(place(workspace) - 10_000) < 500)
    for end in ("from", "to"):
        limit = workspace.get_by_role("textbox", name=f"x limits: {end}")
        assert limit.evaluate("field => field.scrollWidth <= field.clientWidth"), limit.input_value()
    workspace.get_by_role("button", name="log", exact=True).first.click()
    workspace.locator(".mosaic-charted tbody button").first.click()
    move = workspace.get_by_role("button", name=re.compile("Move the chart losses"))
    move.focus()
    page.keyboard.press("ArrowLeft")
    titles = workspace.locator(".mosaic-chart h3")
    expect(titles.first).to_have_text("losses/value_loss")
    page.wait_for_timeout(1500)  # JupyterLab saves its state with a delay

    page.reload()
    expect(titles.first).to_have_text("losses/value_loss")
    expect(workspace.get_by_role("button", name="Reset zoom")).to_be_enabled()
    log = chart(workspace, "episode_return").get_by_role("button", name="log", exact=True)
    expect(log).to_have_attribute("aria-pressed", "true")
    expect(workspace.locator(".mosaic-charted tbody [aria-pressed=false]")).to_have_count(1)
    hover(page, plot(workspace, "losses/value_loss"), 0.5)
    assert len(values(workspace)) == 4


def test_runs_are_grouped_filtered_and_saved(page: Page, jupyterlab: JupyterLab, store: Path) -> None:
    folders = write_runs(store, 10, points=100)
    # Two runs have the same label; one of them failed.
    alike = "sb3 recurrent_ppo MountainCarContinuous-v0 seed 2"
    for number in (2, 7):
        launch: dict[str, Any] = json.loads((folders[number] / "launch.json").read_text())
        (folders[number] / "launch.json").write_text(json.dumps({**launch, "label": alike}))
    workspace = opened(page, jupyterlab, store)
    ends = workspace.locator(".mosaic-charted-name [data-text^=' seed']")
    cut = "ends => ends.filter(end => end.scrollWidth > end.clientWidth).map(end => end.dataset.text)"
    expect(ends).to_have_count(10)
    assert ends.evaluate_all(cut) == [], "the distinguishing ends of names are truncated"
    heads, cells = (
        workspace.locator(f".mosaic-charted {part} tr:has(:nth-child(2))").first
        for part in ("thead", "tbody")
    )
    assert edges(heads) == edges(cells), "headers are not above their columns"
    over = plot(workspace, "episode_return")

    with page.expect_download() as download:
        chart(workspace, "episode_return").get_by_role("button", name="More of episode_return").click()
        workspace.get_by_role("button", name="CSV").click()
    assert "episode_return" in Path(download.value.path()).read_text()

    workspace.get_by_role("button", name="Group by …").click()
    workspace.get_by_role("checkbox", name="of all runs").check()
    expect(workspace.get_by_role("button", name="Mean of all runs")).to_be_visible()
    wait_until(lambda: hovered(page, workspace, over) == ["mean of 10"])
    expect(workspace.locator(".mosaic-values small")).to_have_text(re.compile(r"\d – .*\d"))
    workspace.get_by_role("checkbox", name="learning_rate").check()
    page.keyboard.press("Escape")
    expect(workspace.get_by_role("button", name="Mean by learning_rate")).to_be_visible()
    means = [f"learning_rate={rate} · mean of 5" for rate in (0.0001, 0.0003)]
    wait_until(lambda: sorted(hovered(page, workspace, over)) == means)

    workspace.get_by_role("button", name="Parallel coordinates").click()
    parallel = workspace.get_by_role("application", name="Parallel coordinates of 10 runs")
    drawn = parallel.locator("text")
    assert drawn.evaluate_all(
        """labels => labels.every(label =>
            label.getBoundingClientRect().bottom <= label.ownerSVGElement.getBoundingClientRect().bottom)"""
    )
    parallel.focus()
    page.keyboard.press("ArrowDown")
    expect(parallel.locator("[aria-live]")).to_contain_text(re.compile(r"learning_rate 0\.000[13], .*return"))
    low = workspace.get_by_role("textbox", name="Filter by learning_rate: from")
    low.fill("0.0002")
    low.press("Enter")
    expect(workspace.get_by_text("5 of 10 runs")).to_be_visible()
    workspace.get_by_role("button", name="Scatter").click()
    expect(workspace.locator("circle[r='4.5']")).to_have_count(5)


def test_every_control_of_the_charts_has_its_effect(page: Page, jupyterlab: JupyterLab, store: Path) -> None:
    spiked, *_ = write_runs(store, 3, points=200)
    spike(spiked, range(9_900, 10_200, 100))
    page.set_viewport_size({"width": 1000, "height": 420})
    workspace = opened(page, jupyterlab, store)
    below = chart(workspace, "losses/value_loss")
    expect(below).to_contain_text("Reading …")  # rather than a claim that no values exist
    page.set_viewport_size({"width": 1400, "height": 900})
    over, one = plot(workspace, "episode_return"), chart(workspace, "episode_return")
    expect(over).to_be_visible()

    def shown(part: float) -> list[float]:
        """Values at a fraction of the chart's width."""
        hover(page, over, part)
        return list(values(workspace).values())

    # Outliers, smoothing.
    wait_until(lambda: max(shown(0.4975)) == 1e6)
    workspace.get_by_role("checkbox", name="Ignore outliers").check()
    wait_until(lambda: max(shown(0.4975)) < 1e6)
    raw = shown(0.7)
    workspace.get_by_role("slider", name="Smooth").fill("0.95")
    wait_until(lambda: shown(0.7) != raw)
    workspace.get_by_role("slider", name="Smooth").fill("0")
    wait_until(lambda: shown(0.7) == raw)

    nearest = workspace.locator(".mosaic-values-nearest b")
    # With typed y limits, the pointer at half the height is on the line of that value.
    for value in (max(raw), min(raw)):
        one.get_by_role("button", name="More of episode_return").click()
        for limit, number in (("min", value - 1), ("max", value + 1)):
            field = one.get_by_role("textbox", name=f"y limits: {limit}")
            field.fill(str(number))
            field.press("Enter")
        page.keyboard.press("Escape")
        wait_until(lambda value=value: shown(0.7) and float(nearest.inner_text()) == value)

    # Three runs have a mean, but no interval.
    workspace.get_by_role("button", name="Group by …").click()
    grouped = workspace.get_by_role("checkbox", name="of all runs")
    grouped.check()
    wait_until(lambda: len(shown(0.7)) == 4)
    expect(workspace.locator(".mosaic-values")).to_contain_text("no interval: fewer than five runs")
    grouped.uncheck()
    workspace.get_by_text("other settings").click()
    long = workspace.get_by_role("checkbox", name="batch_size")
    long.check()
    long.uncheck()
    expect(long).to_be_visible()
    page.keyboard.press("Escape")
    wait_until(lambda: len(shown(0.7)) == 3)

    # Files.
    for name, begin in (("PNG", b"\x89PNG"), ("SVG", b"<?xml")):
        with page.expect_download() as download:
            one.get_by_role("button", name="More of episode_return").click()
            one.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"episode_return.{name.lower()}"
        assert Path(download.value.path()).read_bytes().startswith(begin)

    # The x axis: logarithmic, with limits, by episodes, by time.
    axis, place_text = workspace.locator(".mosaic-settings select"), workspace.locator(".mosaic-values-place")
    workspace.get_by_role("button", name="log x").click()
    wait_until(lambda: bool(shown(0.5)) and place(workspace) < 2_000)
    low = workspace.get_by_role("textbox", name="x limits: from")
    low.fill("5k")
    low.press("Enter")
    wait_until(lambda: bool(shown(0.1)) and 5_000 < place(workspace) < 7_000)
    high, problem = workspace.get_by_role("textbox", name="x limits: to"), workspace.get_by_role("alert")
    for number, words in (("200", "from must be below to"), ("-5", "a log axis needs numbers above 0")):
        high.fill(number)
        high.press("Enter")
        expect(problem).to_have_text(words)
    wait_until(lambda: bool(shown(0.1)) and 5_000 < place(workspace) < 7_000)
    high.fill("")
    expect(problem).to_be_hidden()
    workspace.get_by_role("button", name="log x").click()
    high.fill("1M")
    high.press("Enter")
    low.fill("900k")
    low.press("Enter")
    expect(one).to_contain_text("No visible run has values in this part of the x axis: a double-click shows")
    plot(workspace, "episode_return").dblclick()
    expect(one).not_to_contain_text("No visible run")
    axis.select_option("episode")
    wait_until(
        lambda: bool(shown(0.5)) and place_text.inner_text() in ("episode 99 · raw", "episode 100 · raw")
    )
    axis.select_option("time")
    wait_until(lambda: bool(shown(0.5)) and place_text.inner_text().count(":") == 2)

    # Charts are added, resized and removed.
    charts = workspace.locator(".mosaic-chart")
    workspace.get_by_role("button", name="+ Chart").click()
    page.keyboard.type("value")
    page.keyboard.press("Enter")
    expect(charts).to_have_count(3)
    charts.last.get_by_role("button", name="More of").click()
    charts.last.get_by_role("button", name="Remove the chart").click()
    expect(charts).to_have_count(2)
    height = one.evaluate("chart => chart.offsetHeight")
    one.get_by_role("button", name="Resize the chart").press("ArrowDown")
    wait_until(lambda: one.evaluate("chart => chart.offsetHeight") == height + 20)

    workspace.get_by_role("button", name="Scatter").click()
    dots = workspace.get_by_role("application", name="last return against seed")
    dots.press("ArrowRight")
    dots.press("ArrowRight")
    expect(dots.locator("[aria-live]")).to_contain_text("seed 1, last return")


def spike(folder: Path, steps: range) -> None:
    """Replace a run's return with an absurd value at some steps."""
    path = folder / "telemetry.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line.get("event") == "metrics" and line["payload"]["step"] in steps:
            line["payload"]["values"]["episode_return"] = 1e6
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


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

    expect(chart(workspace, "episode_return")).to_contain_text("2 lines")
    click(0.3)
    expect(player).to_contain_text(f"step {early:,}")
    expect(player.locator("video")).to_be_visible()
    workspace.locator(".mosaic-settings select").select_option("relative")
    click(0.7)
    expect(player).to_contain_text(f"step {late:,}")

    choice.select_option(other.name)
    expect(films).to_contain_text("No films: make them with lab.make_films(lab.run(")
    films.get_by_role("button", name="Close the films").click()
    expect(films).to_have_count(0)


def pointer(over: Locator, part: float) -> tuple[float, float]:
    box = over.bounding_box()
    assert box is not None
    return box["x"] + part * box["width"], box["y"] + box["height"] / 2
