"""Faulty runs in the user interface: broken files, removed folders, huge logs, names full of HTML."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from browser.jupyter import MAKE_LAB, JupyterLab, opened
from browser.test_extension import FAIL
from browser.test_runs_panel import RunsPanel
from browser.test_workspace import OPEN, hover, plot, values
from many_runs import write_runs
from playwright.sync_api import Locator, Page, expect
from support import wait_until
from written_films import write_film

from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.runs import Run, Supervisor

HTML = "<img/class=hacked/src=x/onerror=window.hacked=1>"
HUGE = 500_000_000


@pytest.fixture
def mistakes(page: Page) -> list[str]:
    """Uncaught errors in the page."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def open_workspace(page: Page, folder: Path, runs: list[str]) -> Locator:
    page.evaluate(OPEN, {"store": str(folder / "mosaic_runs"), "runs": runs})
    return page.locator(".mosaic-workspace-tab .mosaic-workspace")


def break_runs(folders: list[Path]) -> list[Path]:
    """Break each run in a different way; return the runs that still have a folder."""
    settings, directory, telemetry, states, file = folders
    (settings / "config.json").write_text('{"algorithm": "ppo", ')
    for name in ("config.json", "launch.json", "telemetry.jsonl", "worker.log"):
        (directory / name).unlink()
        (directory / name).mkdir()
    with (telemetry / "telemetry.jsonl").open("ab") as stream:
        stream.write(b'\xff\x00[[[\n{"event": "metrics", "payload": {"step": NaN}}\n{"event": "metr')
    (states / "state.json").write_bytes(b"\x00\xff")
    shutil.rmtree(file)
    file.write_text("not a folder")
    return folders[:-1]


def test_broken_folders_and_a_huge_log_leave_the_page_at_work(
    page: Page, jupyterlab: JupyterLab, folder: Path, mistakes: list[str]
) -> None:
    sound, *others = write_runs(folder / "mosaic_runs", 6)
    broken = break_runs(others)
    with (sound / "worker.log").open("r+b") as log:
        log.truncate(HUGE)
        log.seek(HUGE)
        log.write(b"x" * 1_000_000 + b"\n" + b"a line of many\n" * 5000 + b"the last line\n")
    notebook = opened(page, jupyterlab, folder, MAKE_LAB, "lab.runs[:]")
    for cell in range(2):
        notebook.run(cell)
    expect(notebook.cell(1)).to_contain_text(sound.name)
    panel = RunsPanel(page, folder)
    panel.grid.focus()
    page.keyboard.press("Control+a")
    expect(panel.node).to_contain_text(f"{1 + len(broken)} selected")

    workspace = open_workspace(page, folder, [path.name for path in (sound, *others)])
    over = plot(workspace, "episode_return")
    hover(page, over, 0.5)
    assert Run(sound).label in values(workspace)

    for path in (sound, *broken):
        target = {"store": str(folder / "mosaic_runs"), "runs": [path.name]}
        page.evaluate("args => jupyterapp.commands.execute('mosaic-lab:open-run-panel', args)", target)
        expect(page.locator(".mosaic-run-tab:visible")).to_contain_text(path.name)
        page.evaluate("args => jupyterapp.commands.execute('mosaic-lab:show-log', args)", target)
        shown = page.locator(".mosaic-run-log:visible")
        expect(shown).to_contain_text("the last line" if path == sound else "")
        expect(shown).not_to_have_text("")
        assert len(shown.inner_text()) < 200_000
    assert mistakes == []


@pytest.mark.extended
def test_a_run_that_is_deleted_under_its_open_tabs_leaves_what_they_showed(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor, mistakes: list[str]
) -> None:
    first, second = (Run(path) for path in write_runs(supervisor.store.root, 6)[4:])  # from two groups
    for run in supervisor.runs()[:4]:
        shutil.rmtree(run.path)
    deleted, other = names = ("the deleted one", "the other one")
    first.name, second.name = names
    notebook = opened(page, jupyterlab, folder, MAKE_LAB)
    notebook.run(0)
    panel = RunsPanel(page, folder)
    panel.choose(panel.line(deleted), "Show log")
    log = page.locator(".mosaic-run-log")
    expect(log).to_contain_text("training")
    panel.line(deleted).dblclick()
    live = page.locator(".mosaic-run-tab")
    expect(live.locator(".mosaic-header")).to_contain_text(deleted)
    workspace = open_workspace(page, folder, [first.id, second.id])
    hover(page, plot(workspace, "episode_return"), 0.5)
    assert set(values(workspace)) == {*names}

    shutil.rmtree(first.path)
    expect(panel.line(deleted)).to_have_count(0)
    expect(workspace.get_by_role("rowheader", name=deleted)).to_have_count(0)
    expect(workspace.get_by_role("rowheader", name=other)).to_be_visible()
    page.mouse.move(5, 5)
    hover(page, plot(workspace, "episode_return"), 0.5)
    expect(workspace.locator(".mosaic-values div:has(b)")).to_have_count(1)
    page.locator(".lm-TabBar-tab", has_text=f"Log of {deleted}").click()
    expect(log).to_contain_text("The run was removed. Its log, as it was last read:")
    expect(log).to_contain_text("training")
    page.locator(".lm-TabBar-tab", has_text=re.compile(f"^{deleted}")).click()
    expect(live).to_contain_text("The run was removed. This is what its panel showed:")
    expect(live.locator(".mosaic-header")).to_contain_text("completed")

    # Actions on the remaining run still work.
    panel.line(other).click()
    panel.action("Tag").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("kept")
    page.keyboard.press("Enter")
    wait_until(lambda: second.tags == ("kept",))
    assert mistakes == []


def nothing_injected(page: Page) -> bool:
    return page.locator(".hacked").count() == 0 and page.evaluate("window.hacked") is None


def full_of_html(run: Path, env: str) -> None:
    """Put HTML into every name and text of a run."""
    for name in ("config.json", "launch.json"):
        document = json.loads((run / name).read_text())
        document["hyperparameters"][f"h{HTML}"] = env + HTML
        for key in {"algorithm", "worker", "label", "group"} & document.keys():
            document[key] = key + HTML
        write_json(run / name, document | ({"env_id": env + HTML} if "env_id" in document else {}))
    lines = (run / "telemetry.jsonl").read_text().replace("losses/value_loss", f"m{HTML}")
    (run / "telemetry.jsonl").write_text(lines)
    state = json.loads((run / "state.json").read_text())
    write_json(run / "state.json", {**state, "reason": HTML})
    Run(run).tags, Run(run).notes = [HTML], f"# {HTML}"
    (run / "worker.log").write_text(HTML)


def test_names_full_of_html_are_text_wherever_they_are_shown(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor, mistakes: list[str]
) -> None:
    first, second = write_runs(supervisor.store.root, 2)
    for path, env in ((first, "one"), (second, "two")):
        full_of_html(path, env)
    write_film(first, 100)
    cells = [MAKE_LAB, "mosaic.show(lab.runs[0])", "lab.runs[:]", "mosaic.workspace(lab.runs)"]
    notebook = opened(page, jupyterlab, folder, *cells)
    for cell in range(len(cells)):
        notebook.run(cell)
    expect(notebook.cell(1).locator(".mosaic-header")).to_contain_text("label" + HTML)
    films = notebook.cell(1).locator("details").filter(has_text="Films")
    films.locator("summary").click()
    expect(films).to_have_attribute("open", "")
    expect(notebook.cell(1).locator(".mosaic-film-row button")).to_have_count(1)
    expect(notebook.cell(2)).to_contain_text("group" + HTML)
    expect(notebook.cell(3).get_by_role("rowheader", name="label" + HTML).first).to_be_visible()
    assert nothing_injected(page)

    # The runs panel: its lines, their tooltips, its menus and dialogs.
    panel = RunsPanel(page, folder)
    expect(panel.grid).to_contain_text("group" + HTML)
    panel.grid.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    line = panel.grid.locator("[aria-selected=true]")
    expect(line).to_contain_text(HTML)
    assert HTML in str(line.locator("[title]").first.get_attribute("title"))
    line.hover()
    panel.node.get_by_role("button", name="Filter").click()
    expect(panel.node.get_by_role("group", name="Filter").get_by_text("one" + HTML)).to_be_visible()
    page.keyboard.press("Escape")
    for command in ("Rename …", "Tag …", "Notes …", "Remove …"):
        panel.choose(line, command)
        expect(page.get_by_role("dialog")).to_be_visible()
        assert nothing_injected(page), command
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    panel.choose(line, "Show log")
    expect(page.locator(".mosaic-run-log")).to_contain_text(HTML)
    line.dblclick()
    expect(page.locator(".lm-TabBar-tab", has_text="label" + HTML)).to_have_count(2)
    assert nothing_injected(page)

    # The workspace: values at the pointer, chart titles and the other views.
    workspace = open_workspace(page, folder, [first.name, second.name])
    hover(page, plot(workspace, "episode_return"), 0.5)
    assert all(name.startswith("label" + HTML) for name in values(workspace))
    expect(workspace.locator(".mosaic-chart h3", has_text="m" + HTML)).to_be_visible()
    for view in ("Parallel coordinates", "Scatter", "Difference"):
        workspace.get_by_role("button", name=view, exact=True).click()
        expect(workspace).to_contain_text(HTML)
        assert nothing_injected(page), view

    # The notification of a failed run.
    stop = folder / "fail"
    supervisor.start([*FAIL, str(stop)], {"algorithm": "none"}, worker="fail", label="fails" + HTML)
    expect(panel.line("fails" + HTML)).to_contain_text("starting")
    stop.touch()
    notice = page.locator(".Toastify__toast")
    expect(notice).to_contain_text("fails" + HTML)
    assert nothing_injected(page)

    # The saved notebook, shown without a kernel.
    page.locator(".lm-TabBar-tab", has_text="work.ipynb").click()
    page.locator("[data-command='docmanager:save']:visible").click()
    saved = folder / "work.ipynb"
    wait_until(lambda: "label&lt;img" in saved.read_text())
    notebook.restart_kernel()
    page.reload()
    expect(notebook.cell(1).locator(".mosaic-saved")).to_contain_text("label" + HTML)
    assert nothing_injected(page)
    assert mistakes == []
