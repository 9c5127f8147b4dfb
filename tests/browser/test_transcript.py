"""Transcripts in JupyterLab: search, filters, replay and export, in a cell and in the workspace."""

from __future__ import annotations

import json
import re
from pathlib import Path

from browser.jupyter import JupyterLab, opened
from language.language_fixtures import FakeServer
from playwright.sync_api import Page, expect

INSTALL_MS = 300_000  # the first test builds the workers' environments
EVIL = "<img src=x onerror='window.hacked=1'>"


def test_an_evaluation_is_read_searched_and_replayed(
    page: Page, jupyterlab: JupyterLab, folder: Path, language_server: FakeServer
) -> None:
    language_server.script("scripted", "legal", f"say=I am lost {EVIL}", "legal")
    play = f"""import os
os.environ['FAKE_KEY'] = '{language_server.key}'
import mosaic_lab as mosaic
lab = mosaic.Lab()
llm = mosaic.operators.llm('scripted', base_url='{language_server.openai_url}', api_key_env='FAKE_KEY')
ev = lab.evaluate(env='FrozenLake-v1', operators={{'LLM': llm}}, seeds=[3, 4], max_steps=4, parallel=1).wait()
ev.transcript()"""
    compare = """cmp = lab.compare(env='FrozenLake-v1', operators={'LLM': llm}, seeds=[3])
cmp.step(2)
cmp.transcript()"""
    notebook = opened(page, jupyterlab, folder, play, compare, "mosaic.workspace(ev)")
    notebook.start(0)
    view = page.locator(".mosaic-transcript")
    expect(view).to_be_visible(timeout=INSTALL_MS)
    rows = view.locator("tbody tr:has(button)")
    expect(view.locator("output")).to_have_text(re.compile(r"^(9|1\d) exchanges$"))
    detail = view.get_by_label("Prompt and answer", exact=True)
    expect(detail.locator("h3")).to_have_text("LLM · seed 3 · step 0")
    expect(detail.locator("mark")).not_to_be_empty()

    view.get_by_role("searchbox").fill("i am LOST")
    expect(rows).to_have_count(2)  # the answer, and the repair request whose prompt quotes it
    expect(rows.first).to_contain_text("unparsed")
    expect(detail.locator(".mosaic-answer-text")).to_have_text(f"I am lost {EVIL}")
    view.get_by_role("searchbox").fill("")
    view.get_by_label("Seed", exact=True).fill("4")
    expect(rows).to_have_count(4)
    view.get_by_label("Exchanges", exact=True).press("ArrowDown")
    expect(detail.locator("h3")).to_have_text("LLM · seed 4 · step 1")
    view.get_by_role("button", name="Charts").click()
    expect(view.get_by_label("Tokens", exact=True).locator("canvas").first).to_be_visible()

    detail.get_by_role("button", name="Replay").click()
    replay = page.locator(".mosaic-replay-body")
    expect(replay).to_be_visible(timeout=INSTALL_MS)
    expect(replay.get_by_role("slider").first).to_have_value("1")
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save …").click()
        view.get_by_role("button", name="JSON lines").click()
    lines = [json.loads(line) for line in saved.value.path().read_text().splitlines()]
    assert [(line["seed"], line["step"]) for line in lines] == [(4, 0), (4, 1), (4, 2), (4, 3)]
    assert page.evaluate("window.hacked") is None

    notebook.run(1)
    compared = notebook.output(1)
    compared.get_by_role("button", name="Replay").click()
    expect(compared.locator(".mosaic-replay-body")).to_be_visible()

    notebook.run(2)
    workspace = notebook.output(2).locator(".mosaic-workspace").first
    workspace.get_by_role("button", name="Transcript").click()
    expect(workspace.locator(".mosaic-transcript tbody tr:has(button)").first).to_be_visible()
    workspace.get_by_role("button", name="Replay").click()
    tab = page.locator(".mosaic-run-tab .mosaic-replay-body")
    expect(tab).to_be_visible(timeout=INSTALL_MS)
    expect(tab.get_by_role("slider").first).to_have_value("0")
