"""Values shown at the pointer on the charts of a notebook's panels."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab, opened
from many_runs import write_runs
from playwright.sync_api import Page, expect
from support import wait_until

from mosaic_lab.runs import Run

SHOW = """
import mosaic_lab as mosaic
lab = mosaic.Lab()
lab.runs[0].name = "<b>first</b>"
mosaic.show(list(lab.runs), metric="episode_return")
"""


def test_the_nearest_points_of_all_lines_stand_beside_the_pointer(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    runs = [Run(path) for path in write_runs(folder / "mosaic_runs", 3, points=50)]
    notebook = opened(page, jupyterlab, folder, SHOW)
    notebook.run(0)
    panel = notebook.output(0).locator(".mosaic-panel")
    plot = panel.locator(".bqplot .plotarea_events")
    expect(plot).to_be_visible()
    expect(panel.locator(".bqplot .mosaic-empty")).to_have_count(0)
    panel.get_by_role("slider", name="Smooth").fill("0")
    box = plot.bounding_box()
    assert box
    box_of_values = page.locator(".mosaic-pointer")
    rows = box_of_values.locator(".mosaic-pointer-row")
    heights = cycle((0, 1))

    def values() -> list[str]:
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2 + next(heights))
        expect(rows).to_have_count(3)
        return rows.locator("b").all_inner_texts()

    values()
    step = int(box_of_values.locator(".mosaic-pointer-place").inner_text().split()[1].replace(",", ""))
    expected = []
    for run in runs:
        points = run.metrics("episode_return")
        expected.append(float(points.loc[points["step"] == step, "value"].iloc[0]))
    shown = sorted(expected, reverse=True)
    pattern = re.compile(" ".join(rf"({value:.1f}|{value:.0f})" for value in shown))
    wait_until(lambda: pattern.fullmatch(" ".join(values())))  # until the kernel sends unsmoothed values
    assert {label.strip() for label in rows.locator("span").all_inner_texts()} >= {"seed 1", "seed 2"}
    expect(rows.filter(has=page.locator("b")).and_(page.locator(".mosaic-nearest"))).to_have_count(1)
    # With typed limits of the y axis, half the height of the chart is halfway between them.
    for name, limit in (
        ("Lower limit of the y axis", shown[-1] - 1),
        ("Upper limit of the y axis", shown[-1] + 1),
    ):
        panel.get_by_label(name).fill(str(limit))
        page.keyboard.press("Enter")
    nearest = page.locator(".mosaic-nearest b")

    def at_half_the_height() -> float:
        page.mouse.move(box["x"] + box["width"] * 0.41, box["y"] + box["height"] / 2)
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
        return float(nearest.inner_text().replace(",", "").replace("−", "-"))

    wait_until(lambda: at_half_the_height() == pytest.approx(shown[-1], abs=0.1))
    # While the pointer rests, the values follow the drawn lines.
    slider = panel.get_by_role("slider", name="Smooth")
    slider.evaluate("input => { input.value = 0.99; input.dispatchEvent(new Event('input')); }")
    expect(box_of_values).to_contain_text("smoothed 0.99")
    expect(nearest).not_to_have_text(f"{shown[-1]:.1f}")
    expect(panel).to_contain_text("last values, smoothed")
    panel.get_by_label("Upper limit of the y axis").fill("-100000")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("alert")).to_have_text("min must be below max")
    panel.get_by_role("button", name="Reset the view").click()
    expect(panel.get_by_role("alert")).to_have_text("")
    expect(panel.get_by_label("Upper limit of the y axis")).to_have_value("")
    page.mouse.move(box["x"] - 40, box["y"])
    expect(box_of_values).to_have_count(0)
