"""Screenshots of the extension, in both themes and at two widths.

``python -m browser.screenshots FOLDER [SCENE …]``, in ``tests/`` with the test tools installed, trains four
short CleanRL runs, one with films, writes stores of 3 and 300 runs, opens them in a real JupyterLab, and
writes ``FOLDER/<scene>-<theme>-<width>.png``: all scenes in about five minutes. The README's picture is
``readme-light-1600.png``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from browser.chromium import CHROMIUM_ARGUMENTS, EXPECT_MS, chromium_executable
from browser.jupyter import JupyterLab, Notebook
from browser.server import serving
from many_runs import write_runs
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

import mosaic_lab as mosaic

WIDTHS = (1600, 1000)
HEIGHT = 900
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
SOON_MS = 60_000
SETTLE_MS = 800  # until charts and pictures are drawn and notifications gone

CELLS = ["import mosaic_lab as mosaic\n\nlab = mosaic.Lab()", "lab.runs.table()"]


@dataclass
class Stage:
    """A page of a JupyterLab server, with the actions that scenes perform on it."""

    page: Page
    server: JupyterLab

    def open(self, folder: str, *, notebook: bool = False) -> Stage:
        """Open the runs panel on a folder's store; with ``notebook``, beside a notebook that has a lab."""
        if notebook:
            Notebook(self.page, self.server, f"{folder}/work.ipynb").run(0)
        else:
            self.page.goto(f"{self.server.address()}&reset")
            self.page.locator("#jupyterlab-splash").wait_for(state="detached")
        self.page.wait_for_function("window.jupyterapp")
        self.page.evaluate("jupyterapp.restored.then(() => null)")
        self.execute("show-runs")
        stores = self.panel.get_by_label("Run store")
        store = str(self.server.root / folder / "mosaic_runs")
        expect(stores.locator(f"option[value='{store}']")).to_have_count(1)
        stores.select_option(store)
        return self

    @property
    def panel(self) -> Locator:
        return self.page.locator("#mosaic-lab-runs")

    @property
    def workspace(self) -> Locator:
        return self.page.locator(".mosaic-workspace:visible")

    def execute(self, command: str, **arguments: object) -> None:
        call = "([id, args]) => jupyterapp.commands.execute(id, args)"
        self.page.evaluate(call, [f"mosaic-lab:{command}", arguments])

    def chart_runs(self, folder: str) -> None:
        store = self.server.root / folder / "mosaic_runs"
        runs = [run.id for run in mosaic.Lab(store).runs if run.parent is None]
        self.execute("open-workspace", store=str(store), runs=runs)
        self.view("Charts")  # a workspace reopens with the view that it last showed
        expect(self.workspace.locator(".u-over").first).to_be_visible(timeout=SOON_MS)

    def point_at(self, part: float) -> tuple[float, float]:
        """Move the pointer to this fraction of the first chart's width until its values are shown."""
        box = self.workspace.locator(".u-over").first.bounding_box()
        assert box is not None
        x, y = box["x"] + part * box["width"], box["y"] + box["height"] / 2
        values = self.workspace.locator(".mosaic-values")
        while True:
            self.page.mouse.move(x - 40, y)
            self.page.mouse.move(x, y, steps=4)
            self.page.wait_for_timeout(200)
            if values.is_visible():
                return x, y

    def view(self, name: str) -> None:
        self.workspace.get_by_role("button", name=name, exact=True).click()


def panel_empty(stage: Stage) -> None:
    stage.open("empty", notebook=True)
    expect(stage.panel).to_contain_text("No runs yet")


def panel_3(stage: Stage) -> None:
    stage.open("three")
    expect(stage.panel).to_contain_text("3 runs")


def panel_300(stage: Stage) -> None:
    stage.open("many")
    expect(stage.panel).to_contain_text("300 runs")
    stage.panel.get_by_label("Search runs").fill("ppo")
    stage.panel.get_by_role("button", name="Filter").click()


def workspace(stage: Stage) -> None:
    stage.open("trained").chart_runs("trained")


def workspace_300(stage: Stage) -> None:
    stage.open("many").chart_runs("many")


def pointer(stage: Stage) -> None:
    stage.open("trained").chart_runs("trained")
    stage.point_at(0.6)


def parallel_coordinates(stage: Stage) -> None:
    stage.open("many").chart_runs("many")
    stage.view("Parallel coordinates")


def scatter(stage: Stage) -> None:
    stage.open("many").chart_runs("many")
    stage.view("Scatter")


def difference(stage: Stage) -> None:
    stage.open("trained").chart_runs("trained")
    stage.view("Difference")


def films(stage: Stage) -> None:
    stage.open("trained").chart_runs("trained")
    stage.page.mouse.click(*stage.point_at(0.9))
    lab = mosaic.Lab(stage.server.root / "trained" / "mosaic_runs")
    filmed = next(run.id for run in lab.runs if run.films)
    stage.workspace.get_by_label("The run whose films are shown").select_option(filmed)
    expect(stage.workspace.locator("video")).to_be_visible(timeout=SOON_MS)


def form(stage: Stage) -> None:
    stage.open("trained", notebook=True)
    stage.execute("new-training")
    view = stage.page.locator("#mosaic-lab-training-form")
    view.get_by_label("Environment").fill("CartPole-v1")
    expect(view.get_by_label("The code of the cell")).to_be_visible(timeout=SOON_MS)


def log_of_a_failed_run(stage: Stage) -> None:
    stage.open("many")
    expect(stage.panel).to_contain_text("300 runs")  # switching stores closes the menu
    stage.panel.get_by_role("button", name="Filter").click()
    stage.panel.get_by_role("group", name="Filter").get_by_text("failed").click()
    stage.page.keyboard.press("Escape")
    line = stage.panel.locator(".mosaic-runs-line.mosaic-mod-run").first
    line.click()
    stage.execute("show-log")
    expect(stage.page.get_by_role("log")).to_be_visible()


def removed_runs(stage: Stage) -> None:
    stage.open("three")
    store = str(stage.server.root / "three" / "mosaic_runs")
    stage.execute("open-workspace", store=store, runs=["20260101-000000-removed"])
    expect(stage.workspace).to_contain_text("None of these runs")


def readme(stage: Stage) -> None:
    films(stage)
    stage.workspace.get_by_role("slider", name="Smooth").fill("0.85")
    stage.page.wait_for_timeout(4 * SETTLE_MS)
    stage.point_at(0.6)


SCENES: tuple[Callable[[Stage], None], ...] = (
    *(panel_empty, panel_3, panel_300, workspace, workspace_300, pointer, parallel_coordinates, scatter),
    *(difference, films, form, log_of_a_failed_run, removed_runs, readme),
)


def prepare(root: Path, scenes: list[str]) -> None:
    """Write the scenes' run stores into the server's root; train real runs only if a scene needs them."""
    write_runs(root / "three" / "mosaic_runs", 3)
    write_runs(root / "many" / "mosaic_runs", 300)
    if set(scenes) & {"workspace", "pointer", "difference", "films", "form", "readme"}:
        lab = mosaic.Lab(root / "trained" / "mosaic_runs")
        runs = [
            lab.train(
                "cleanrl",
                algorithm="ppo",
                env="CartPole-v1",
                total_timesteps=50_000,
                learning_rate=rate,
                seed=seed,
                checkpoint_every=10_000,
                films="each" if (rate, seed) == (1e-3, 1) else "off",
            )
            for rate in (2.5e-4, 1e-3)
            for seed in (1, 2)
        ]
        for run in [*runs, *lab.runs]:
            run.wait(600)


def shoot(browser: Browser, server: JupyterLab, out: Path, scenes: list[str]) -> None:
    settings = server.root.parent / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    for theme, name in THEMES.items():
        (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": name}))
        for width in WIDTHS:
            for scene in (one for one in SCENES if one.__name__ in scenes):
                page = browser.new_page(viewport={"width": width, "height": HEIGHT})
                try:
                    scene(Stage(page, server))
                    page.wait_for_timeout(SETTLE_MS)
                finally:
                    page.screenshot(path=out / f"{scene.__name__}-{theme}-{width}.png")
                    page.close()


def main() -> None:
    names = [scene.__name__ for scene in SCENES]
    parser = argparse.ArgumentParser(prog="python -m browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"default: all of {', '.join(names)}")
    arguments = parser.parse_args()
    scenes = arguments.scenes or names
    if unknown := set(scenes) - set(names):
        parser.error(f"no such scene: {', '.join(sorted(unknown))}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=EXPECT_MS)
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home), "--LabApp.expose_app_in_browser=True") as server,
        sync_playwright() as playwright,
    ):
        prepare(server.root, scenes)
        for name in ("empty", "trained"):
            server.write_notebook(f"{name}/work.ipynb", CELLS)
        browser = playwright.chromium.launch(executable_path=chromium_executable(), args=CHROMIUM_ARGUMENTS)
        shoot(browser, server, arguments.folder.resolve(), scenes)
        browser.close()


if __name__ == "__main__":
    main()
