"""Evaluations in JupyterLab: progress, intermediate results, Stop, frames, charts and replays."""

from __future__ import annotations

import re
from pathlib import Path

from browser.frames import counters
from browser.jupyter import BUSY, JupyterLab, opened
from playwright.sync_api import Page, expect
from support import wait_until

import mosaic_lab as mosaic

INSTALL_MS = 300_000  # the first test builds the workers' environments
SETUP = """import mosaic_lab as mosaic
from mosaic_lab import operators
lab = mosaic.Lab()
two = {'random': operators.random(), 'still': operators.passive()}
"""


def test_an_evaluation_is_followed_watched_and_stopped_while_a_cell_runs(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    call = "ev = lab.evaluate(env='CartPole-v1', operators=two, seeds=range(5000), step_delay=0.01)\nev"
    notebook = opened(page, jupyterlab, folder, SETUP + call, BUSY)
    notebook.start(0)
    panel = page.locator(".mosaic-panel").first
    expect(panel).to_be_visible(timeout=INSTALL_MS)
    notebook.start(1)
    wait_until(lambda: (folder / "busy").exists())

    expect(panel.locator(".mosaic-title")).to_have_text("Evaluation · CartPole-v1")
    expect(panel.locator(".mosaic-chips")).to_have_text("running")
    facts = panel.locator(".mosaic-numbers")
    expect(facts).to_contain_text(re.compile(r"\d+ of 10,000 episodes.*left"))
    rows = panel.locator(".mosaic-table tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(re.compile(r"random\d+ of 5,000[\d.]+ \[[\d.]+, [\d.]+\]"))
    expect(panel.locator(".bqplot")).to_have_count(3)
    expect(panel.locator(".bqplot .mainheading")).to_have_text(["Mean", "Median", "IQM"])
    expect(panel.locator(".bqplot").first.locator(".dot_grp, .dot")).not_to_have_count(0)
    before = facts.inner_text()
    wait_until(lambda: facts.inner_text() != before)

    panel.get_by_text("Frames of the arenas that play now").click()
    panel.locator(".mosaic-frames canvas").first.scroll_into_view_if_needed()
    wait_until(lambda: min(counters(page)["drawn"]) > 2)
    panel.get_by_role("button", name="Stop", exact=True).click()
    expect(panel.locator(".mosaic-chips")).to_have_text("cancelled")
    expect(panel.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
    panel.locator("summary", has_text="Episodes").click()
    episode = panel.locator(".mosaic-choosable", has_text="still").first
    replay = panel.locator(".mosaic-replay")
    color = episode.locator(".mosaic-swatch").get_attribute("style") or ""
    episode.click()
    expect(replay.locator(".mosaic-chip").first).to_have_text("as recorded")
    expect(replay.locator(".mosaic-swatch")).to_have_attribute("style", color)
    expect(episode).to_have_attribute("aria-current", "true")
    panel.locator(".bqplot").first.locator(".dot").first.hover()
    panel.locator(".bqplot").first.locator(".dot").first.click()
    expect(replay.first.locator(".mosaic-title").first).to_contain_text("random, seed")
    (run,) = mosaic.Lab(folder / "mosaic_runs").runs
    assert run.state == "cancelled"


def test_charts_are_live_and_stay_as_pictures(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    call = "ev = lab.evaluate(env='CartPole-v1', operators=two, seeds=range(12)).wait()\n"
    cells = [
        f"{SETUP}{call}ev.interval_plot()",
        "ev.paired_plot('random', 'still')",
        "ev.summary(target=500)",
        "ev.replay(['random', 'still'], seed=3)",
    ]
    page.set_viewport_size({"width": 1300, "height": 900})
    notebook = opened(page, jupyterlab, folder, *cells)
    notebook.start(0)
    intervals, pairs = page.locator(".mosaic-plot").nth(0), page.locator(".mosaic-plot").nth(1)
    expect(intervals).to_be_visible(timeout=INSTALL_MS)
    notebook.run(1)
    expect(intervals.locator(".mosaic-plot-note b")).to_have_text("Returns in CartPole-v1, 24 of 24 episodes")
    expect(intervals.locator(".bqplot .axis text", has_text=re.compile("^random$"))).to_have_count(1)
    expect(pairs.locator(".mosaic-legend-item")).to_have_text(
        ["no difference", "mean, 95% interval", "one seed"]
    )
    expect(pairs.locator(".dot")).to_have_count(12)
    intervals.locator(".bqplot").first.locator(".dot").first.hover()
    values = page.locator(".mosaic-pointer")
    expect(values.locator(".mosaic-pointer-place")).to_have_text("random · return")
    hint = re.compile(r"click: replays random, seed \d+")
    expect(values.locator(".mosaic-pointer-hint")).to_have_text(hint)
    expect(values.locator(".mosaic-pointer-row")).to_have_text(
        [re.compile(r"random[\d.]+$"), re.compile(r"random[\d.]+ to [\d.]+$")]
    )
    pairs.locator(".dot").nth(5).hover()
    expect(values.locator(".mosaic-pointer-place")).to_have_text("seeds, by difference 6")
    expect(values.locator(".mosaic-nearest")).to_contain_text("one seed")
    pairs.locator(".dot").nth(5).click()
    player = pairs.locator(".mosaic-replay")
    expect(player.locator(".mosaic-lane")).to_have_count(2)
    player.locator("input[type=range]").fill("2")
    player.get_by_role("button", name="Continue from here").first.click()
    lanes = pairs.locator(".mosaic-comparison:not(.mosaic-replay) .mosaic-lane")
    expect(lanes).to_have_count(2)
    expect(player.locator(".mosaic-notice")).to_contain_text("begins at step 2 of random")
    expect(lanes.first.locator("[data-name=step] b")).to_have_text("0")
    notebook.run(2)
    table = notebook.output(2).locator("table")
    expect(table.locator("thead")).to_contain_text("optimality_gap")
    assert table.evaluate("t => t.clientWidth <= t.closest('.jp-OutputArea-output').clientWidth")
    notebook.run(3)
    plays_a_replay(page)
    pictures = page.locator(".jp-RenderedImage img")
    expect(pictures).to_have_count(3)
    expect(pictures.first).to_be_hidden()  # the live chart is shown instead

    table.click()  # move the focus away from the player, which captures keys
    notebook.restart_kernel()
    page.keyboard.press("Control+s")
    wait_until(lambda: "mosaic-saved" in (folder / "work.ipynb").read_text())
    notebook.reload()
    saved = page.locator(".mosaic-saved").last
    expect(saved).to_contain_text("they differ from step 2 on")
    saved.get_by_text("11 steps").click()
    expect(saved.locator("table").first.locator("tbody tr")).to_have_count(11)
    expect(saved.locator("video")).to_have_count(2)
    expect(pictures.first).to_be_visible()
    expect(page.locator(".mosaic-saved").first).to_contain_text("95% stratified bootstrap intervals")


def plays_a_replay(page: Page) -> None:
    """Play and step through two operators' replays of one seed: 11 and 9 steps, which differ at step 2."""
    player = page.locator(".mosaic-replay").last
    at, lanes = player.locator("output"), player.locator(".mosaic-lane")
    expect(at).to_have_text("0 / 11")
    expect(lanes.locator(".mosaic-chip:visible")).to_have_text(["as recorded"] * 2)
    player.get_by_role("button", name="First difference: step 2").click()
    expect(at).to_have_text("2 / 11")
    expect(lanes.locator(".mosaic-action")).to_have_text(["push right", "push left"])
    expect(lanes.first.locator("pre")).to_have_text(re.compile(r"^\[-?0\.\d+(, -?[\d.]+){3}\]$"))
    moments = "all => all.map(film => film.currentTime)"
    wait_until(lambda: player.locator("video").evaluate_all(moments)[0] > 0.4)
    page.keyboard.press("ArrowLeft")
    expect(at).to_have_text("1 / 11")
    player.get_by_role("button", name="One step back").press("Space")  # elsewhere Space means play
    expect(at).to_have_text("0 / 11")
    player.get_by_label("Steps per second").select_option("60")
    player.locator(".mosaic-title").first.click()
    page.keyboard.press("Space")
    expect(at).to_have_text("11 / 11")
    expect(lanes.first).to_contain_text("ended: terminated")
    expect(lanes.first.locator(".mosaic-lane-facts")).to_have_text(re.compile(r"return 11$"))
    page.keyboard.press("Home")
    expect(at).to_have_text("0 / 11")
