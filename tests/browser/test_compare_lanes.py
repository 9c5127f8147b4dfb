"""A lane shows its operator's thinking, reasons, faults and end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.comparison import SETUP, at_step, compare, lane, press, widget
from browser.jupyter import JupyterLab
from playwright.sync_api import Page, expect
from support import wait_until


@pytest.fixture
def odd(odd_home: Path) -> str:
    """The start of a cell whose workers misbehave."""
    return f"import os\nos.environ['MOSAIC_LAB_HOME'] = {str(odd_home)!r}\n{SETUP}"


def test_a_lane_that_dies_says_why_and_is_restarted(
    page: Page, jupyterlab: JupyterLab, folder: Path, odd: str
) -> None:
    call = (
        "'odd', {'dies': operators.worker('odd', behaviour='die', at=3), 'lives': operators.worker('odd')}, "
        "seeds=[1], family='odd'"
    )
    compare(page, jupyterlab, folder, call, setup=odd)
    for step in (1, 2):
        press(page, "Step all")
        at_step(page, dies=step, lives=step)
    press(page, "Step all")
    at_step(page, lives=3)
    expect(lane(page, "dies").get_by_role("alert")).to_be_visible()
    lane(page, "dies").get_by_text("Log", exact=True).click()
    expect(lane(page, "dies").locator("pre", has_text="goodbye, cruel world")).to_be_visible()
    press(page, "Step all")
    at_step(page, lives=4)
    press(page, "Reset")
    at_step(page, lives=0)
    press(page, "Restart dies")
    at_step(page, dies=0)
    expect(lane(page, "dies").get_by_role("alert")).to_be_hidden()
    press(page, "Step all")
    at_step(page, dies=1, lives=1)


def test_a_slow_lane_is_thinking_and_the_page_stays_alive(
    page: Page, jupyterlab: JupyterLab, folder: Path, odd: str
) -> None:
    call = (
        "'odd', {'slow': operators.worker('odd', behaviour='hang', at=1), 'fast': operators.worker('odd')}, "
        "seeds=[1], family='odd'"
    )
    compare(page, jupyterlab, folder, call, setup=odd)
    press(page, "Step all")
    at_step(page, fast=1, slow=0)
    thinking = lane(page, "slow").get_by_text(re.compile("is thinking"))
    expect(thinking).to_be_visible()
    before = thinking.inner_text()
    wait_until(lambda: thinking.inner_text() != before)
    press(page, "One step of fast alone")
    at_step(page, fast=2)
    press(page, "Reset")
    at_step(page, fast=0)
    expect(thinking).to_be_hidden()


@pytest.mark.extended
def test_what_an_operator_did_wrong_is_shown(
    page: Page, jupyterlab: JupyterLab, folder: Path, odd: str
) -> None:
    wrong = "operators.worker('odd', behaviour='illegal', at=2, fallback='default')"
    call = f"'odd', {{'wrong': {wrong}}}, seeds=[1], family='odd', max_steps=3"
    compare(page, jupyterlab, folder, call, setup=odd)
    move = lane(page, "wrong").locator(".mosaic-move")
    press(page, "Step all")
    at_step(page, wrong=1)
    expect(move).not_to_contain_text("illegal")
    press(page, "Step all")
    at_step(page, wrong=2)
    expect(move).to_contain_text("illegal")
    expect(lane(page, "wrong").get_by_text("17")).to_be_visible()
    press(page, "Step all")
    expect(widget(page).locator(".mosaic-table tbody td").nth(6)).to_have_text("2")
    expect(lane(page, "wrong")).to_contain_text("truncated")


@pytest.mark.extended
def test_what_an_operator_says_of_its_reasons_is_seen(
    page: Page, jupyterlab: JupyterLab, folder: Path, odd: str
) -> None:
    """Those of a language model have a place of their own; of others only short ones are unfolded."""
    says = """from types import SimpleNamespace
def brief(observation):
    return SimpleNamespace(action=1, action_str="right", reasoning=f"I saw {observation}.")
def long(observation):
    return SimpleNamespace(action=1, action_str="right", reasoning=f"I saw {observation}. " * 20)
"""
    model = "operators.worker('odd', category='llm', behaviour='explain', at=1, model='small-1')"
    call = f"'odd', {{'model': {model}, 'brief': brief, 'long': long}}, seeds=[1], family='odd'"
    compare(page, jupyterlab, folder, call, setup=odd + says)
    expect(lane(page, "model").get_by_text("small-1")).to_be_visible()
    expect(lane(page, "model").get_by_text("Its reasoning will appear here.")).to_be_visible()
    press(page, "Step all")
    at_step(page, model=1, brief=1, long=1)
    expect(lane(page, "model").locator(".mosaic-reasoning")).to_have_text(
        re.compile("Nothing .* So I go on.")
    )
    expect(lane(page, "model").locator(".mosaic-move")).to_contain_text("1,234 → 56 tokens")
    action = lane(page, "model").locator(".mosaic-action")
    expect(action).to_have_attribute("title", "go on")
    lane(page, "model").evaluate("lane => lane.style.width = '190px'")  # the tokens shrink first
    assert action.evaluate("node => node.scrollWidth <= node.clientWidth")
    lane(page, "model").evaluate("lane => lane.style.width = ''")
    expect(lane(page, "brief").get_by_text("I saw 0.")).to_be_visible()
    whole = lane(page, "long").locator("pre", has_text="I saw 0. I saw 0.")
    expect(whole).to_be_hidden()
    lane(page, "long").get_by_text("Reasoning").click()
    expect(whole).to_be_visible()
