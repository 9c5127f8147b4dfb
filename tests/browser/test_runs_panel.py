"""Runs panel in the left area: its contents, and its actions on real runs in a real kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.jupyter import BUSY, MAKE_LAB, JupyterLab, opened
from many_runs import write_runs
from playwright.sync_api import Locator, Page, expect
from support import start_endless, wait_until

from mosaic_lab.runs import Supervisor

HTML = "<img src=x onerror='document.title=1'><b>bold</b>"


class RunsPanel:
    """The runs panel, opened on the store of this test's folder."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.node = page.locator("#mosaic-lab-runs")
        page.locator(".jp-SideBar [data-id='mosaic-lab-runs']").click()
        stores = self.node.get_by_label("Run store")
        self.grid = self.node.get_by_role("treegrid")
        expect(self.grid.or_(self.node.get_by_text("No run"))).to_be_visible()
        if stores.count():
            stores.select_option(str(folder / "mosaic_runs"))

    def line(self, text: str) -> Locator:
        return self.grid.locator(".mosaic-runs-line").filter(has_text=text)

    def action(self, name: str) -> Locator:
        return self.node.get_by_role("toolbar").get_by_role("button", name=re.compile(f"^{name}"))

    def choose(self, line: Locator, command: str) -> None:
        """Choose a command from the context menu of a line."""
        line.click(button="right")
        self.page.locator(".lm-Menu").get_by_text(command, exact=True).click()


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_runs_are_stopped_renamed_and_removed_while_a_cell_runs(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor
) -> None:
    run = start_endless(supervisor)
    write_runs(folder / "elsewhere" / "mosaic_runs", 5)
    notebook = opened(page, jupyterlab, folder, MAKE_LAB, f"lab.run({run.id!r})", BUSY)
    notebook.run(0)
    notebook.run(1)
    notebook.start(2)
    notebook.status("Busy")
    panel = RunsPanel(page, folder)
    line = panel.line(run.label)
    expect(line).to_contain_text("running")

    # HTML in a name is shown as text.
    line.click()
    page.keyboard.press("F2")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(HTML)
    dialog.get_by_role("button", name="Rename").click()
    line = panel.line(HTML)
    expect(line).to_be_visible()
    assert run.name == HTML
    assert panel.grid.locator("img, b").count() == 0

    panel.choose(line, "Notes …")
    dialog.get_by_role("textbox").press_sequentially("two\nlines")
    dialog.get_by_role("button", name="Save").click()
    wait_until(lambda: run.notes == "two\nlines")
    page.context.grant_permissions(["clipboard-read"])
    panel.choose(line, "Copy id")
    expect(page.get_by_text("Copied the id of a run")).to_be_visible()
    wait_until(lambda: clipboard(page) == run.id)
    panel.choose(line, "Copy the code to run it again")
    wait_until(lambda: "Peer-v0" in clipboard(page) and run.id not in clipboard(page))

    # The live panel opens in a tab, also from the menu of the cell that shows it; so does the log.
    notebook.cell(1).locator(".mosaic-header").first.click(button="right")
    page.locator(".lm-Menu").get_by_text("Open this run’s panel in a tab").click()
    tab = page.locator(".mosaic-run-tab")
    expect(tab.locator(".mosaic-panel")).to_be_visible()
    assert tab.get_attribute("data-mosaic-runs") == run.id
    tab.get_by_role("button", name="Open in the workspace").click()
    expect(page.locator(".mosaic-workspace")).to_contain_text(HTML)
    panel.choose(line, "Show log")
    expect(page.get_by_role("log")).to_be_visible()
    line.dblclick()
    expect(tab.locator(".mosaic-panel")).to_be_visible()

    # A run that is alive can be stopped, but neither resumed nor removed.
    line.click(button="right")
    resume = page.locator(".lm-Menu-item").filter(has_text="Resume")
    expect(resume).to_have_attribute("title", "The run is still alive.")
    page.keyboard.press("Escape")
    expect(panel.action("Remove")).to_have_attribute("aria-disabled", "true")
    expect(panel.action("Remove")).to_have_attribute("title", "Remove …: Stop the runs that are alive first.")
    panel.action("Stop").click()
    expect(line).to_contain_text("cancelled")
    line.click()
    page.keyboard.press("Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(HTML)
    dialog.get_by_role("button", name="Cancel").click()
    assert run.folder.path.is_dir()

    # A reload restores the tabs, under the run's name, and the panel's store and opened group.
    page.locator(".lm-MenuBar-item", has_text="MOSAIC").click()
    page.locator(".lm-Menu-item", has_text="New training").click()
    form = page.locator(".mosaic-form")
    expect(form).to_be_visible()
    stores = panel.node.get_by_label("Run store")
    stores.select_option(str(folder / "elsewhere" / "mosaic_runs"))
    panel.grid.focus()
    page.keyboard.press("ArrowRight")
    expect(panel.grid.locator("[aria-level='2']")).to_have_count(5)
    saved = jupyterlab.root.parent / "workspaces"
    # The saved state names this store twice: as the chosen store and in the opened group.
    wait_until(lambda: sum(file.read_text().count("elsewhere/mosaic_runs") for file in saved.iterdir()) > 1)
    (folder / "go").touch()
    page.reload()
    expect(panel.grid.locator("[aria-level='2']")).to_have_count(5, timeout=60_000)
    expect(form).to_be_attached()
    stores.select_option(str(folder / "mosaic_runs"))
    expect(tab.locator(".mosaic-panel")).to_be_visible(timeout=60_000)
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tabLabel", has_text=HTML)).to_have_text(
        [HTML, f"Log of {HTML}"]
    )
    line.click()
    page.keyboard.press("Delete")
    dialog.get_by_role("button", name="Remove").click()
    expect(panel.node).to_contain_text("No runs yet")
    wait_until(lambda: not run.folder.path.exists())


@pytest.mark.extended
def test_a_store_without_a_kernel_is_filtered_and_read_but_not_changed(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor
) -> None:
    write_runs(supervisor.store.root, 60)
    page.goto(jupyterlab.address(f"lab/workspaces/{folder.name}"))
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    # A second after the start, JupyterLab's launcher takes the keyboard focus.
    page.wait_for_function("document.activeElement.classList.contains('jp-Launcher')")
    panel = RunsPanel(page, folder)
    expect(panel.node).to_contain_text("Read-only. Run mosaic_lab.Lab")
    expect(panel.node).to_contain_text("60 runs")

    # The keyboard reaches every line.
    panel.grid.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(panel.grid.locator("[aria-selected=true]")).to_have_count(1)
    page.keyboard.press("End")
    expect(panel.grid.locator("[aria-selected=true]")).to_be_in_viewport()
    active = panel.grid.get_attribute("aria-activedescendant")
    assert panel.grid.locator(f"[id='{active}']").get_attribute("aria-selected") == "true"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(panel.action("Rename")).to_have_attribute("aria-disabled", "true")

    # A store created in the meantime is found, and the selection is kept.
    selected = panel.grid.get_attribute("aria-activedescendant")
    write_runs(folder / "later" / "mosaic_runs", 2)
    later = panel.node.get_by_label("Run store").locator(f"option[value='{folder}/later/mosaic_runs']")
    expect(later).to_have_count(1)
    assert panel.grid.get_attribute("aria-activedescendant") == selected
    expect(panel.grid.locator("[aria-selected=true]")).to_have_count(1)
    assert panel.grid.evaluate("grid => grid === document.activeElement")
    panel.node.get_by_label("Run store").select_option(str(folder / "mosaic_runs"))
    expect(panel.grid.locator("[aria-selected=true]")).to_have_count(1)

    # Filter by facets, then by text.
    panel.node.get_by_role("button", name="Filter").click()
    panel.node.get_by_role("group", name="Filter").get_by_text("failed").click()
    page.keyboard.press("Escape")
    expect(panel.node).to_contain_text("3 of 60 runs")
    panel.node.get_by_role("button", name="Remove the filter failed").click()
    panel.node.get_by_label("Search runs").fill("appo learning_rate<0.0002")
    expect(panel.node).to_contain_text(" of 60 runs")
    panel.node.get_by_label("Search runs").fill("no such run")
    panel.node.get_by_role("button", name="Clear the filter").click()
    expect(panel.node).to_contain_text("60 runs")

    # The section of workers opens tall enough for its list and leaves room for the runs.
    panel.node.locator(".jp-AccordionPanel-title").filter(has_text="Workers").click()
    workers = panel.node.get_by_role("list", name="Workers")
    expect(workers.get_by_role("listitem").first).to_be_in_viewport(ratio=1)
    section = panel.node.locator("#mosaic-lab-workers").bounding_box()
    assert section is not None
    assert section["height"] >= 150
    expect(panel.grid).to_be_in_viewport()


def test_the_runs_are_a_live_table_in_a_cell_and_stay_in_the_notebook(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor
) -> None:
    run = start_endless(supervisor)
    notebook = opened(page, jupyterlab, folder, MAKE_LAB, "lab.runs", BUSY)
    for cell in range(2):
        notebook.run(cell)
    notebook.start(2)
    table = notebook.cell(1).get_by_role("treegrid")
    expect(table).to_contain_text("running")
    expect(notebook.cell(1).locator(".mosaic-saved")).to_be_hidden()
    second = start_endless(supervisor)
    expect(table.locator(".mosaic-runs-line")).to_have_count(2)
    lines = table.locator(".mosaic-runs-line")
    tools = notebook.cell(1).get_by_role("toolbar")

    # The table has the panel's actions, with its own dialogs.
    lines.first.click()  # the newest
    expect(tools.get_by_role("button", name="Remove")).to_have_attribute("aria-disabled", "true")
    tools.get_by_role("button", name="Rename").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(HTML)
    page.keyboard.press("Enter")
    line = lines.filter(has_text=HTML)
    expect(line).to_be_visible()
    assert second.name == HTML
    tools.get_by_role("button", name="Notes").click()
    dialog.get_by_role("textbox").press_sequentially("two\nlines")
    dialog.get_by_role("button", name="Save").click()
    wait_until(lambda: second.notes == "two\nlines")
    line.dblclick()
    expect(page.locator(".mosaic-run-tab .mosaic-panel")).to_be_visible()
    page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="work.ipynb").click()

    table.focus()
    page.keyboard.press("Control+a")
    tools.get_by_role("button", name="Stop", exact=True).click()
    expect(lines.filter(has_text="cancelled")).to_have_count(2)
    line.click()
    tools.get_by_role("button", name="Remove").click()
    expect(dialog).to_contain_text(HTML)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    tools.get_by_role("button", name="Remove").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(lines).to_have_count(1)
    assert not second.folder.path.exists()
    (folder / "go").touch()
    page.locator("[data-command='docmanager:save']").click()
    saved = folder / "work.ipynb"
    wait_until(lambda: run.id in saved.read_text())
