"""The JupyterLab extension: status bar, commands, notifications, settings, and pages outside JupyterLab."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from browser.jupyter import BUSY, MAKE_LAB, JupyterLab, Notebook, choose_in_palette, opened
from many_runs import write_runs
from playwright.sync_api import Locator, Page, expect

from mosaic_lab import __version__
from mosaic_lab.evaluation.evaluation import WORKER
from mosaic_lab.runs import Run, Supervisor

FAIL = [
    sys.executable,
    "-c",
    "import pathlib, sys, time\n"
    "while not pathlib.Path(sys.argv[1]).exists():\n    time.sleep(0.05)\n"
    "sys.exit('no luck')",
]
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def notebook(page: Page, jupyterlab: JupyterLab, folder: Path) -> Notebook:
    return opened(page, jupyterlab, folder, MAKE_LAB, BUSY)


def start_run(folder: Path, worker: str = "sleep") -> Run:
    """Start a run that only sleeps, from a process other than the kernel."""
    return Supervisor(folder / "mosaic_runs", max_running=9).start(
        SLEEP, {"algorithm": "none"}, worker=worker
    )


def runs_alive(page: Page) -> Locator:
    return page.locator("#jp-main-statusbar .mosaic-RunsAlive")


def choose_from_menu(page: Page, command: str) -> None:
    page.locator(".lm-MenuBar-item", has_text="MOSAIC").click()
    page.locator(".lm-Menu-item", has_text=command).click()


def test_status_bar_and_commands_follow_a_notebook_to_its_lab_also_while_a_cell_runs(
    notebook: Notebook, folder: Path
) -> None:
    page = notebook.page
    expect(runs_alive(page)).to_be_hidden()
    choose_in_palette(page, "Open run store")
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("run mosaic_lab.Lab()")
    dialog.get_by_role("button").click()
    expect(dialog).to_be_hidden()
    notebook.run(0)
    expect(runs_alive(page)).to_have_text("0 runs alive")
    run = start_run(folder)
    expect(runs_alive(page)).to_have_text("1 run alive")
    choose_in_palette(page, "Open run store")
    expect(page.locator(".jp-DirListing-item", has_text=run.id)).to_be_visible()
    runs_alive(page).click()
    expect(page.locator("#mosaic-lab-runs")).to_be_visible()

    notebook.start(1)
    notebook.status("Busy")
    second = start_run(folder)
    expect(runs_alive(page)).to_have_text("2 runs alive")
    evaluation = start_run(folder, WORKER)
    expect(runs_alive(page)).to_have_text("2 runs, 1 evaluation alive")
    run.stop(grace=0)
    second.stop(grace=0)
    expect(runs_alive(page)).to_have_text("1 evaluation alive")
    evaluation.stop(grace=0)
    expect(runs_alive(page)).to_have_text("0 runs alive")
    notebook.status("Busy")


@pytest.mark.extended
def test_status_bar_recovers_from_a_reload_while_a_cell_runs(notebook: Notebook, folder: Path) -> None:
    start_run(folder)
    notebook.run(0)
    notebook.start(1)
    notebook.status("Busy")
    notebook.page.reload()
    expect(runs_alive(notebook.page)).to_have_text("1 run alive")
    # The runs panel explains why it is read-only until the cell finishes.
    runs_alive(notebook.page).click()
    reason = notebook.page.locator("#mosaic-lab-runs").get_by_role("note")
    expect(reason).to_contain_text("Read-only. The kernel of work.ipynb is running a cell")
    expect(reason).to_have_count(1)
    (folder / "go").touch()
    expect(reason).to_have_count(0)


def test_a_run_that_ends_out_of_sight_is_notified_of_once_and_as_the_settings_say(
    notebook: Notebook, folder: Path, jupyterlab: JupyterLab
) -> None:
    page = notebook.page
    start_run(folder).stop(grace=0)  # before the page lists it
    Supervisor(folder / "mosaic_runs").start(
        [*FAIL, str(folder / "fail")], {"algorithm": "none"}, worker="fail"
    )
    notebook.run(0)
    expect(runs_alive(page)).to_have_text("1 run alive")
    (folder / "fail").touch()
    notice = page.locator(".Toastify__toast")
    expect(notice).to_contain_text("fail none failed: ")
    expect(notice).to_have_count(1)
    notice.get_by_role("button", name="Log").click()
    log = page.locator(".mosaic-run-log")
    expect(log).to_contain_text("no luck")
    expect(log.locator("p")).to_contain_text("failed: ")
    expect(notice).to_have_count(0)
    tab = page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="Log of fail none")
    tab.locator(".lm-TabBar-tabCloseIcon").click()

    settings = jupyterlab.root.parent / "settings" / "mosaic-lab" / "settings.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"notifications": "failures", "smoothing": 0.6, "x": "time"}')
    notebook.reload()
    expect(runs_alive(page)).to_have_text("0 runs alive")
    expect(notice).to_have_count(0)  # not reported a second time
    run = start_run(folder)
    expect(runs_alive(page)).to_have_text("1 run alive")
    run.stop(grace=0)
    expect(runs_alive(page)).to_have_text("0 runs alive")
    expect(notice).to_have_count(0)
    choose_from_menu(page, "Charts of runs")
    workspace = page.locator(".mosaic-workspace-tab")
    expect(workspace.get_by_label("Smooth")).to_have_value("0.6")
    expect(workspace.locator("select").first).to_have_value("time")
    settings.unlink()


def test_what_the_extension_offers_stands_where_jupyterlab_has_it(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    page.goto(jupyterlab.address(f"lab/workspaces/{folder.name}"))
    page.wait_for_function("document.activeElement.classList.contains('jp-Launcher')")
    cards = page.locator(".jp-LauncherCard[data-category='MOSAIC Lab']")
    expect(cards.filter(has_text="New training")).to_be_visible()
    assert "" not in [text.strip() for text in cards.all_inner_texts()]
    page.locator(".lm-MenuBar-item", has_text="MOSAIC").click()
    expect(page.locator(".lm-Menu-item", has_text="New training")).to_be_visible()
    expect(page.locator(".lm-Menu-item", has_text="Open run store")).to_be_visible()
    page.keyboard.press("Escape")
    schema = page.evaluate("fetch('/lab/api/settings/mosaic-lab:settings').then(answer => answer.json())")
    assert schema["schema"]["properties"]["notifications"]["default"] == "all"
    assert schema["version"] == __version__

    # A command on selected runs explains why it is unavailable.
    choose_in_palette(page, "Stop the selected runs")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Select a run first.")
    dialog.get_by_role("button").click()
    expect(page.locator("#mosaic-lab-runs")).to_be_hidden()
    page.keyboard.press("Control+Alt+R")
    expect(page.locator("#mosaic-lab-runs")).to_be_visible()


def test_an_opened_telemetry_file_shows_its_runs_charts_and_never_comes_into_the_page(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    run = write_runs(folder / "mosaic_runs", 1)[0]
    (folder / "telemetry.jsonl").write_text("{}\n")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(jupyterlab.address(f"lab/workspaces/telemetry/tree/{run.relative_to(jupyterlab.root)}"))
    page.locator(".jp-DirListing-item", has_text="telemetry.jsonl").dblclick()
    charts = page.locator(".jp-Document .mosaic-workspace-tab .u-wrap canvas")
    expect(charts.first).to_be_visible()
    of_file = [url for url in requested if "/api/contents/" in url and "telemetry.jsonl?" in url]
    assert of_file != []
    assert all("content=0" in url for url in of_file), of_file
    page.reload()
    expect(charts.first).to_be_visible()

    page.goto(jupyterlab.address(f"lab/workspaces/lonely/tree/{folder.name}"))
    page.locator(".jp-DirListing-item", has_text="telemetry.jsonl").dblclick()
    expect(page.locator(".jp-Document", has_text="not in the folder of a run")).to_be_visible()


def test_runs_charts_and_forms_are_shown_in_notebook_7_too(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    pytest.importorskip("notebook")
    jupyterlab.write_notebook(f"{folder.name}/work.ipynb", [MAKE_LAB])
    run = write_runs(folder / "mosaic_runs", 1)[0]
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(jupyterlab.address(f"notebooks/{folder.name}/work.ipynb"))
    choose_from_menu(page, "Show runs")
    runs = page.locator("#mosaic-lab-runs")
    line = runs.locator(f".mosaic-runs-line[id$='{run.name}']")  # runs of other tests are listed too
    expect(line).to_be_visible()
    # Notebook 7 shows a single document, so tabs open below it.
    line.click()
    expect(line).to_have_attribute("aria-selected", "true")
    runs.get_by_role("button", name="Open in the workspace").click()
    charts = page.locator(".mosaic-workspace-tab .u-wrap canvas").first
    expect(charts).to_be_in_viewport()
    choose_from_menu(page, "New training")
    form = page.locator(".mosaic-form")
    expect(form.get_by_label("Worker")).to_be_in_viewport()
    expect(charts).to_be_hidden()
    runs.get_by_role("button", name="Open in the workspace").click()
    expect(charts).to_be_in_viewport()
    assert complaints == []
    # Widgets look for these two attributes to detect a page without our extension.
    assert page.evaluate("document.body.dataset.mosaicLab") == __version__
    expect(page.locator("body[data-notebook]")).to_have_count(1)
