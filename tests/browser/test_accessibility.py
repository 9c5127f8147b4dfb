"""Accessibility: no serious axe-core violation in either theme, and the Tab key reaches every control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser.jupyter import MAKE_LAB, JupyterLab, choose_in_palette, opened
from many_runs import write_runs
from playwright.sync_api import Page, expect

THEMES = ("JupyterLab Light", "JupyterLab Dark")
CHANGE_THEME = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"
CHECK = """([selector, options]) => axe.run(selector, {resultTypes: ['violations'], ...options}).then(
    result => result.violations
    .filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(({id, nodes}) => ({
        id, nodes: nodes.slice(0, 5).map(({target, failureSummary}) => `${target}: ${failureSummary}`)
    })))"""
COLORS = {"runOnly": ["cat.color"]}
"""Options of axe-core for the second theme: only the rules that depend on colors."""
NUMBER = """selector => {
    const all = document.querySelector(selector).querySelectorAll(
        'button, input, select, textarea, summary, a[href], [tabindex]');
    const usable = [...all].filter(one =>
        one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true}));
    usable.forEach((one, place) => { one.dataset.place = place; });
    return usable.length;
}"""


def walked(page: Page, selector: str) -> list[int]:
    """Indices of the controls at which the Tab key stops within a part, from its first control on."""
    count = page.evaluate(NUMBER, selector)
    page.locator(f"{selector} [data-place='0']").focus()
    stops = []
    for _ in range(count):
        place = page.evaluate("document.activeElement.dataset.place")
        stops += [] if place is None else [int(place)]
        page.keyboard.press("Tab")
    return stops


class Violations:
    """Violations found by axe-core, by theme and part."""

    def __init__(self, page: Page, axe: Path) -> None:
        page.add_script_tag(path=axe)
        self._page = page
        self._found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._theme = ""

    def use(self, theme: str) -> None:
        """Switch the page to this theme for the following checks."""
        self._page.evaluate(CHANGE_THEME, theme)
        expect(self._page.locator("body")).to_have_attribute("data-jp-theme-name", theme)
        self._theme = theme

    def check(self, part: str, selector: str) -> None:
        """Run axe-core on the visible part of the page; keep serious violations."""
        expect(self._page.locator(selector).first).to_be_visible()
        options = {} if self._theme == THEMES[0] else COLORS
        self._found[self._theme, part] = self._page.evaluate(CHECK, [selector, options])

    @property
    def serious(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        return {part: some for part, some in self._found.items() if some}


def check_runs_panel(page: Page, violations: Violations) -> None:
    """Check the runs panel with its sections, menus, dialogs and tabs."""
    panel = page.locator("#mosaic-lab-runs")
    group, line = panel.locator(".mosaic-runs-line").first, panel.locator(".mosaic-runs-line").nth(1)
    group.click()
    page.keyboard.press("ArrowRight")
    if not panel.get_by_role("list", name="Workers").is_visible():
        panel.locator(".jp-AccordionPanel-title").filter(has_text="Workers").click()
    expect(panel.get_by_role("list", name="Workers").get_by_role("listitem").first).to_be_visible()
    panel.get_by_role("button", name="Filter").click()
    violations.check("runs panel, workers and the open menu of filters", "#mosaic-lab-runs")
    page.keyboard.press("Escape")
    line.click(button="right")
    page.locator(".lm-Menu").get_by_text("Show log", exact=True).click()
    violations.check("log", ".mosaic-run-log")
    line.click()
    page.keyboard.press("F2")
    violations.check("dialog", ".jp-Dialog .jp-Dialog-content")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    violations.check("status bar", ".mosaic-RunsAlive")
    choose_in_palette(page, "New training")
    expect(page.locator("#mosaic-lab-training-form select").first).to_be_visible()
    violations.check("form", "#mosaic-lab-training-form")


def check_workspace(page: Page, violations: Violations) -> None:
    """Check the workspace with its views and menus."""
    tab = page.locator(".mosaic-workspace-tab")
    choose_in_palette(page, "Charts of runs")
    expect(tab.locator("canvas").first).to_be_visible()
    for menu in ("Group by …", "+ Chart", "More of episode_return"):
        tab.get_by_role("button", name=menu).click()
        violations.check(f"workspace, {menu}", ".mosaic-workspace-tab")
        page.keyboard.press("Escape")
    for view in ("Parallel coordinates", "Scatter", "Difference"):
        tab.get_by_role("button", name=view, exact=True).click()
        violations.check(f"workspace, {view}", ".mosaic-workspace-tab")
    tab.get_by_role("button", name="Charts", exact=True).click()


def test_no_serious_violation_in_both_themes(
    page: Page, jupyterlab: JupyterLab, folder: Path, npm_packages: Path
) -> None:
    write_runs(folder / "mosaic_runs", 5)
    in_cells = {
        "panel below a cell": ("lab.runs[0]", ".mosaic-panel"),
        "table of runs in a cell": ("lab.runs", ".mosaic-run-table"),
        "workspace in a cell": ("mosaic.workspace(lab.runs)", ".mosaic-workspace-cell"),
    }
    cells = [MAKE_LAB, *(cell for cell, _ in in_cells.values())]
    notebook = opened(page, jupyterlab, folder, *cells)
    violations = Violations(page, npm_packages / "axe-core" / "axe.min.js")
    for cell in range(len(cells)):
        notebook.run(cell)
    page.locator(".mosaic-RunsAlive").click()
    for theme in THEMES:
        page.locator(".lm-TabBar-tab", has_text="work.ipynb").click()
        violations.use(theme)
        for part, (_, selector) in in_cells.items():
            violations.check(part, f".jp-Notebook {selector}")
        check_runs_panel(page, violations)
        check_workspace(page, violations)
    assert violations.serious == {}

    # The Tab key moves through all controls in page order.
    for part in ("#mosaic-lab-runs", ".mosaic-workspace-tab"):
        assert walked(page, part) == list(range(page.evaluate(NUMBER, part)))
