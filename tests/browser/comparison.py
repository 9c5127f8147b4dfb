"""Helpers for browser tests of comparisons: open one in a notebook, press its buttons, read its lanes."""

from __future__ import annotations

from pathlib import Path

from browser.jupyter import JupyterLab, Notebook, opened
from playwright.sync_api import Locator, Page, expect

SETUP = """import mosaic_lab as mosaic
from mosaic_lab import operators
lab = mosaic.Lab()
def lean(observation):
    return int(observation[2] > 0)
"""
TWO = "'CartPole-v1', {'lean': lean, 'random': operators.random()}, seeds=[42, 43, 44]"
PERSON = "'CartPole-v1', {'me': operators.human(), 'lean': lean}, seeds=[42]"
INSTALL_MS = 300_000  # the first test builds the workers' environments


def compare(
    page: Page, jupyterlab: JupyterLab, folder: Path, call: str, *cells: str, setup: str = SETUP
) -> Notebook:
    """Open a notebook whose first cell displays ``lab.compare(call)``."""
    notebook = opened(page, jupyterlab, folder, f"{setup}cmp = lab.compare({call})\ncmp", *cells)
    notebook.start(0)
    expect(widget(page)).to_be_visible(timeout=INSTALL_MS)
    notebook.status("Idle")
    return notebook


def widget(page: Page) -> Locator:
    return page.locator(".mosaic-comparison")


def press(page: Page, name: str) -> None:
    widget(page).get_by_role("button", name=name, exact=True).click()


def lane(page: Page, label: str) -> Locator:
    return page.get_by_label(f"lane {label}", exact=True)


def fact(page: Page, label: str, name: str) -> Locator:
    return lane(page, label).locator(f".mosaic-fact[data-name='{name}'] b")


def at_step(page: Page, **steps: int | str) -> None:
    for label, step in steps.items():
        expect(fact(page, label, "step")).to_have_text(str(step))


def seed(page: Page) -> Locator:
    return widget(page).get_by_label("Seed", exact=True)


def drawn(page: Page) -> list[int]:
    """Number of frames drawn so far, per lane."""
    counts = page.locator(".mosaic-lanes").evaluate("element => element.mosaicFrames.drawn")
    assert isinstance(counts, list)
    return counts


def printed(notebook: Notebook, index: int) -> str:
    notebook.run(index)
    return notebook.output(index).first.inner_text().strip()


def picture(page: Page, label: str) -> Locator:
    return lane(page, label).locator(".mosaic-stage")
