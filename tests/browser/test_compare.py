"""Comparisons in JupyterLab: lanes side by side, buttons, page reloads and kernel restarts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.comparison import TWO, at_step, compare, drawn, fact, lane, press, printed, seed, widget
from browser.jupyter import JupyterLab, Notebook
from playwright.sync_api import Page, expect
from support import marked_processes, wait_until

from mosaic_lab.overview.index import RunIndex


def test_the_buttons_do_what_they_say_and_episodes_are_listed(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(
        page, jupyterlab, folder, TWO, "print(cmp.mode)", "print(cmp.results()['length'].tolist())"
    )
    at_step(page, lean=0, random=0)
    alive = page.locator("#jp-main-statusbar .mosaic-RunsAlive")
    expect(alive).to_have_text("1 comparison alive")
    ends = [widget(page).get_by_role("button", name=name) for name in ("Step all", "End comparison")]
    first_top, last_top = (button.evaluate("button => button.getBoundingClientRect().y") for button in ends)
    assert first_top == last_top, "the buttons are not in one row"
    wait_until(lambda: min(drawn(page)) > 0)
    first = drawn(page)
    chart = widget(page).locator(".bqplot")
    expect(chart).to_be_hidden()
    text = "element => getComputedStyle(element, '::after').content"
    assert chart.evaluate(text) == '"No steps in this episode so far"'
    press(page, "Step all")
    at_step(page, lean=1, random=1)
    expect(chart).to_be_visible()
    wait_until(lambda: all(now > then for now, then in zip(drawn(page), first, strict=True)))
    expect(lane(page, "random").locator(".mosaic-move")).to_contain_text(re.compile("push (left|right)"))
    press(page, "One step of lean alone")
    at_step(page, lean=2, random=1)
    press(page, "Step all")
    at_step(page, lean=2, random=2)
    press(page, "Run")
    expect(widget(page).get_by_role("button", name="Pause", exact=True)).to_be_visible()
    wait_until(lambda: int(fact(page, "lean", "step").inner_text()) > 4)
    press(page, "Pause")
    expect(widget(page).get_by_role("button", name="Run", exact=True)).to_be_visible()
    page.wait_for_timeout(500)
    step = fact(page, "lean", "step").inner_text()
    page.wait_for_timeout(500)
    assert fact(page, "lean", "step").inner_text() == step
    press(page, "Reset")
    at_step(page, lean=0, random=0)
    expect(seed(page)).to_have_value("42")
    press(page, "Next seed")
    expect(seed(page)).to_have_value("43")
    seed(page).fill("7")
    seed(page).press("Enter")
    at_step(page, lean=0, random=0)
    wait_until(lambda: printed(notebook, 1) == "idle")
    seed(page).fill("-5")
    press(page, "Reset")
    expect(widget(page).get_by_role("status").filter(has_text="still on seed 7")).to_be_visible()
    widget(page).get_by_label("Seeds of the list").select_option("42")
    expect(seed(page)).to_have_value("42")
    at_step(page, lean=0, random=0)
    run_to_the_end(page, notebook)
    press(page, "End comparison")
    expect(widget(page).get_by_role("button", name="Ended", exact=True)).to_be_disabled()
    assert printed(notebook, 1) == "closed"
    expect(alive).to_have_text("0 runs alive")


def run_to_the_end(page: Page, notebook: Notebook) -> None:
    """Play two episodes to their end; check that they are listed, can be replayed and will be saved."""
    slider = widget(page).get_by_label("Steps per second")
    slider.press("End")
    expect(widget(page).get_by_text("max", exact=True)).to_be_visible()
    press(page, "Run")
    rows = widget(page).locator(".mosaic-table tbody tr")
    expect(rows).to_have_count(2)
    ended = lane(page, "lean").locator(".mosaic-lane-foot .mosaic-chip")
    expect(ended).to_have_text("ended: terminated")
    green = "element => getComputedStyle(element).getPropertyValue('--mosaic-good')"
    assert ended.evaluate(green) != ended.evaluate(green.replace("good", "tone")), "shown as success"
    expect(widget(page).locator(".bqplot .axislabel", has_text="return")).to_be_visible()
    lengths = [int(row.locator("td").nth(4).inner_text()) for row in rows.all()]
    assert sorted(lengths) == sorted(map(int, re.findall(r"\d+", printed(notebook, 2))))
    expect(widget(page).get_by_role("button", name="Step all")).to_be_disabled()
    expect(widget(page).locator("caption")).to_have_text("Finished episodes: 2")
    press(page, "Replay")
    player = page.locator(".mosaic-replay")
    expect(player.locator(".mosaic-title").first).to_have_text(re.compile("lean, random, seed 42"))
    rows.last.click()
    expect(player.locator(".mosaic-lane")).to_have_count(1)
    expect(player.locator("output")).to_have_text(f"0 / {lengths[-1]}")
    press(page, "Next seed")
    at_step(page, lean=0, random=0)
    press(page, "Run")
    expect(rows).to_have_count(4)
    # The saved form is already in the page, hidden as long as the widget is live.
    saved = page.locator(".mosaic-saved")
    expect(saved.locator("tbody tr")).to_have_count(4)
    expect(saved).to_be_hidden()
    picture_of_it = page.locator(".jp-OutputArea-output img")
    expect(picture_of_it).to_have_count(1)
    expect(picture_of_it).to_be_hidden()


@pytest.mark.extended
def test_a_comparison_outlives_a_reload_of_its_page_but_not_its_kernel(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(page, jupyterlab, folder, TWO)
    press(page, "Step all")
    at_step(page, lean=1, random=1)
    page.keyboard.press("Control+s")
    wait_until(lambda: "mosaic-saved" in (folder / "work.ipynb").read_text())
    notebook.reload()
    at_step(page, lean=1, random=1)
    press(page, "Step all")
    at_step(page, lean=2, random=2)
    notebook.restart_kernel()
    expect(widget(page)).to_contain_text(
        "The kernel was restarted or shut down, and its comparisons ended with it. Run this cell again"
    )
    wait_until(lambda: not marked_processes(folder))
    [row] = RunIndex(folder / "mosaic_runs").changes(0)[1]
    assert (row.state, row.reason) == ("cancelled", "2 lanes; ended with its kernel")
    notebook.run(0)
    press(page, "Step all")
    at_step(page, lean=1, random=1)
