"""A curriculum as its user sees it in JupyterLab: one live panel, whose chart marks its stages."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.frames import SOON_MS, opened
from browser.jupyter import JupyterLab
from playwright.sync_api import Page, expect

INSTALL_MS = 300_000  # the first test builds the worker's environment
CURRICULUM = """import mosaic_lab as mosaic
lab = mosaic.Lab()
stages = [mosaic.Stage("CartPole-v0", steps=1_024), mosaic.Stage("CartPole-v1", steps=1_024)]
run = lab.train("cleanrl", algorithm="ppo", curriculum=stages)
run"""


@pytest.mark.extended
def test_the_chart_of_a_curriculum_marks_its_stages(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = opened(page, jupyterlab, folder, CURRICULUM)
    notebook.start(0)
    panel = page.locator(".mosaic-panel").first
    expect(panel).to_be_visible(timeout=INSTALL_MS)
    for label in ("1 CartPole-v0", "2 CartPole-v1"):
        expect(panel.locator(".bqplot text", has_text=label)).to_be_visible(timeout=120_000)
    expect(panel.locator(".mosaic-chips")).to_have_text("completed", timeout=120_000)
    expect(panel.locator(".mosaic-title")).to_contain_text("CartPole-v0 → CartPole-v1", timeout=SOON_MS)


@pytest.mark.extended
def test_the_workspace_marks_them_too(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    shown = f"{CURRICULUM}.wait()\nmosaic.workspace(run)"
    opened(page, jupyterlab, folder, shown).start(0)
    chart = page.locator(".mosaic-workspace-cell .mosaic-chart").first
    expect(chart).to_be_visible(timeout=INSTALL_MS)
    expect(chart).to_contain_text(
        "Stages begin here: 1 CartPole-v0 (0), 2 CartPole-v1 (1,024)", timeout=SOON_MS
    )
    chart.screenshot(path=folder / "stages.png")
