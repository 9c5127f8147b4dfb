"""What the extension shows can be used with a keyboard and a screen reader: axe-core, in both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser.jupyter import JupyterLab, Notebook
from many_runs import write_runs
from playwright.sync_api import Page, expect

OURS = {
    "runs panel": "#mosaic-lab-runs",
    "form": "#mosaic-lab-training-form",
    "workspace": ".mosaic-workspace-tab",
    "status bar": ".mosaic-RunsAlive",
    "panel below a cell": ".mosaic-panel",
}
THEMES = ("JupyterLab Light", "JupyterLab Dark")
CHECK = """selector => axe.run(selector, {resultTypes: ['violations']}).then(result => result.violations
    .filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(({id, nodes}) => ({
        id, nodes: nodes.slice(0, 5).map(({target, failureSummary}) => `${target}: ${failureSummary}`)
    })))"""


def violations(page: Page, selector: str) -> list[dict[str, Any]]:
    """Run axe-core on what is in sight of our parts; those that hurt."""
    found: list[dict[str, Any]] = page.evaluate(CHECK, selector)
    return found


def palette(page: Page, command: str) -> None:
    page.keyboard.press("Control+Shift+C")
    page.locator(".lm-CommandPalette-input").fill(command)
    page.locator(".lm-CommandPalette-item", has_text=command.removeprefix("MOSAIC Lab ")).first.click()


def test_no_serious_violation_in_both_themes(
    page: Page, jupyterlab: JupyterLab, folder: Path, npm_packages: Path
) -> None:
    write_runs(folder / "mosaic_runs", 5)
    settings = jupyterlab.root.parent / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    name = f"{folder.name}/work.ipynb"
    jupyterlab.write_notebook(name, ["import mosaic_lab\nlab = mosaic_lab.Lab()", "lab.runs[0]"])
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for theme in THEMES:
        (settings / "themes.jupyterlab-settings").write_text(f'{{"theme": "{theme}"}}')
        notebook = Notebook(page, jupyterlab, name)
        expect(page.locator("body")).to_have_attribute("data-jp-theme-name", theme)
        notebook.run(0)
        notebook.run(1)
        expect(page.locator(".mosaic-panel").first).to_be_visible()
        page.locator(".mosaic-RunsAlive").click()
        expect(page.locator("#mosaic-lab-runs [role=row]").first).to_be_visible()
        page.add_script_tag(path=npm_packages / "axe-core" / "axe.min.js")
        for part in ("runs panel", "status bar", "panel below a cell"):
            found[theme, part] = violations(page, OURS[part])
        palette(page, "MOSAIC Lab New training")
        expect(page.locator(OURS["form"]).locator("select").first).to_be_visible()
        found[theme, "form"] = violations(page, OURS["form"])
        palette(page, "MOSAIC Lab Charts of runs")
        expect(page.locator(".mosaic-workspace-tab canvas").first).to_be_visible()
        found[theme, "workspace"] = violations(page, OURS["workspace"])
    assert {part: some for part, some in found.items() if some} == {}
