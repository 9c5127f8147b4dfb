"""Language models on a lane's card: while they write, expanded, and in the saved notebook.

End to end: a worker that calls a language server through its SDK, an arena, a kernel and a page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.comparison import SETUP, at_step, compare, drawn, fact, lane, picture, press, widget
from browser.jupyter import JupyterLab, Notebook
from language.language_fixtures import FakeServer
from playwright.sync_api import Locator, Page, expect
from support import wait_until

from mosaic_lab.cli import main

EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
SCRIPT = (
    f"slow=600+say={'I think about it. ' * 500} {EVIL}",  # ten minutes; the test does not wait for it
    "say=Well.",
    f"cost=0.002+say={EVIL}\nACTION: push right",
)
PUSH = "{'adversary_0': model, 'agent_0': model}"


def fold(page: Page, label: str) -> Locator:
    return lane(page, label).locator(".mosaic-exchange")


def start(page: Page, jupyterlab: JupyterLab, folder: Path, server: FakeServer, *cells: str) -> Notebook:
    server.script("scripted", *SCRIPT)
    made = [
        f"operators.llm('{model}', base_url='{server.openai_url}', api_key_env='FAKE_KEY', timeout=900)"
        for model in ("scripted", "fake:legal")
    ]
    key = f"import os\nos.environ['FAKE_KEY'] = '{server.key}'\n"
    setup = f"{key}{SETUP}model = {made[1]}\n"
    call = f"'CartPole-v1', {{'LLM': {made[0]}, 'me': operators.human(), 'lean': lean}}, seeds=[42]"
    return compare(page, jupyterlab, folder, call, *cells, setup=setup)


@pytest.mark.extended
def test_a_model_that_writes_for_long_slows_nothing_else_down(
    page: Page, jupyterlab: JupyterLab, folder: Path, language_server: FakeServer, tmp_path: Path
) -> None:
    team = f"team = lab.compare('simple_push_v3', {{'team': {PUSH}}}, seeds=[1])\nteam"
    notebook = start(
        page, jupyterlab, folder, language_server, team, "print(cmp.lanes[0].spending.to_dict())"
    )
    page.set_viewport_size(
        {"width": 1400, "height": 2400}
    )  # JupyterLab detaches cells that are scrolled out of view
    writing = lane(page, "LLM").locator(".mosaic-writing")
    press(page, "Step all")
    expect(lane(page, "LLM").get_by_text(re.compile(r"is writing… \d"))).to_be_visible()
    expect(writing).to_contain_text("I think about it.")
    folded = writing.inner_text()
    assert len(folded) <= 400
    fold(page, "LLM").locator("summary").click()
    wait_until(lambda: len(writing.inner_text()) > 400)
    expect(fold(page, "LLM")).to_contain_text("The exchange will appear here once the answer is complete.")
    expect(lane(page, "LLM").get_by_text(re.compile(r"is writing… \d"))).to_be_visible()
    picture(page, "me").click()
    page.keyboard.press("ArrowRight")
    at_step(page, me=1, lean=1)
    for step in (2, 3, 4):  # frames, keys, buttons and the other lanes do not wait for the model
        before = drawn(page)
        press(page, "One step of lean alone")
        press(page, "One step of me alone")
        expect(lane(page, "me").get_by_text("your turn")).to_be_visible()
        picture(page, "me").focus()
        page.keyboard.press("ArrowLeft")
        at_step(page, me=step, lean=step)
        wait_until(lambda: all(now > then for now, then in zip(drawn(page)[1:], before[1:], strict=True)))  # noqa: B023
    expect(writing).to_be_visible()
    at_step(page, LLM=0)

    press(page, "Reset")  # abandons the call
    press(page, "One step of LLM alone")
    at_step(page, LLM=1)
    expect(writing).to_be_hidden()
    shown = fold(page, "LLM").locator(".mosaic-call")
    expect(shown).to_have_count(2)
    expect(shown.nth(0)).to_contain_text("no action found")
    expect(lane(page, "LLM").locator(".mosaic-move .mosaic-chip")).to_have_text("no action found")
    expect(shown.nth(1)).to_contain_text("repair")
    expect(shown.nth(1).locator("mark")).to_have_text("push right")
    expect(shown.nth(1).locator(".mosaic-answer-text")).to_contain_text(EVIL)
    expect(shown.nth(0).get_by_role("region", name="prompt")).to_contain_text("push left")
    assert page.evaluate("window.hacked") is None, "the page interpreted a model's answer as HTML"
    expect(fact(page, "LLM", "cost")).to_have_text("unknown")  # only one of the two calls has a price
    expect(fact(page, "LLM", "parse failures")).to_have_text("1")

    summary = fold(page, "LLM").locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(shown.nth(0)).to_be_hidden()
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown.nth(0)).to_be_visible()

    notebook.run(1)
    several = page.get_by_label("lane team", exact=True)
    several.get_by_role("button", name="One step of team alone").click()
    expect(several.locator(".mosaic-fact[data-name='calls'] b")).to_have_text("2")
    several.locator(".mosaic-exchange summary").click()
    agent = several.get_by_label("Agent", exact=True)
    expect(agent).to_have_value("adversary_0")
    agent.select_option("agent_0")
    expect(several.locator(".mosaic-prompt")).to_contain_text("agent_0")
    page.set_viewport_size({"width": 640, "height": 900})
    for view in widget(page).all():
        wait_until(lambda: view.evaluate("element => element.scrollWidth <= element.clientWidth + 1"))  # noqa: B023

    notebook.restart_kernel()
    page.keyboard.press("Control+s")
    file = folder / "work.ipynb"
    wait_until(lambda: "Prompt and answer of LLM at step 1" in file.read_text())
    assert main(["export", str(file), "-o", str(tmp_path / "page.html")]) == 0
    page.goto((tmp_path / "page.html").as_uri())
    answer = page.get_by_text(re.compile("ACTION: push right")).first
    expect(answer).to_be_hidden()
    page.get_by_text("Prompt and answer of LLM at step 1").click()
    expect(answer).to_be_visible()
    assert page.evaluate("window.hacked") is None
