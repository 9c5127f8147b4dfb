"""Difference view of the workspace tab: two runs compared value by value."""

from __future__ import annotations

import re
from pathlib import Path

from browser.jupyter import JupyterLab
from browser.test_workspace import opened
from many_runs import write_runs
from playwright.sync_api import Locator, Page, expect

from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.runs import Run


def values(view: Locator, name: str, differ: bool = False) -> Locator:
    """The two values in the row of this name; with `differ`, the row is announced as differing."""
    name = re.escape(name) + ("differs" if differ else "")
    head = view.page.locator("th[scope=row]", has_text=re.compile(f"^{name}$"))
    return view.locator("tr", has=head).locator("td")


def test_what_differs_is_shown_the_rest_on_request(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    store = folder / "mosaic_runs"
    first, second, third = map(Run, write_runs(store, 6, points=20)[3:])
    second.name = "the second run"
    environment = {"freeze": ["torch==2.1", "odd==0.3"]}
    write_json(second.folder.provenance_path, {"platform": "Linux", "environment": environment})
    workspace = opened(page, jupyterlab, store)
    workspace.get_by_role("button", name="Difference", exact=True).click()
    view = workspace.get_by_role("region", name="Difference of two runs")
    choices = [view.get_by_label(name) for name in ("First run", "Second run")]
    choices[0].select_option(first.id)
    choices[1].select_option(second.id)
    expect(values(view, "seed", differ=True)).to_have_text(["3", "4"])
    expect(values(view, "torch", differ=True)).to_have_text(["–", "2.1"])
    expect(values(view, "odd", differ=True).last).to_have_text("0.3")
    expect(values(view, "gamma")).to_have_count(0)
    view.get_by_label("Show equal values too").check()
    expect(values(view, "gamma")).to_have_text(["0.99", "0.99"])
    view.get_by_label("Search the differences").fill("learning")
    expect(view.locator("tr:has([scope=row])")).to_have_count(1)
    view.get_by_label("Search the differences").fill("")
    choices[0].select_option(second.id)  # the two choices are swapped
    expect(choices[1]).to_have_value(first.id)
    choices[1].select_option(third.id)
    expect(values(view, "learning_rate", differ=True)).to_have_count(2)
    whole = view.locator(".mosaic-chosen", has_text="the second run")
    expect(whole).to_be_hidden()
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(whole).to_be_visible()  # the selections truncate the names
