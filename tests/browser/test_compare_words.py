"""A person who plays by what the environment says in words: a card that the picture must not show, a game in
text."""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path

import pytest
from browser.comparison import at_step, compare, lane, press, printed
from browser.jupyter import JupyterLab
from playwright.sync_api import Page, expect


@pytest.mark.extended  # it builds the environment of OpenSpiel's games
def test_a_person_reads_their_own_card(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    call = (
        "'OpenSpiel/kuhn_poker', "
        "{'game': {'player_0': operators.human(), 'player_1': operators.random()}}, seeds=[1]"
    )
    compare(page, jupyterlab, folder, call)
    press(page, "Step all")
    words = lane(page, "game").get_by_label("what player_0 may know")
    expect(words).to_have_text("1")
    lane(page, "game").get_by_role("button", name="Pass").click()
    at_step(page, game=1)
    expect(words).to_have_text("1")  # still, while the other one is on turn


@pytest.mark.extended  # it builds the environment of TextArena's games
def test_a_person_types_moves_of_their_own(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    call = (
        "'TextArena/TicTacToe-v0', "
        "{'game': {'player_0': operators.human(), 'player_1': operators.random()}}, seeds=[1]"
    )
    notebook = compare(page, jupyterlab, folder, call, "print(cmp.steps('game')['action'].tolist())")
    press(page, "Step all")
    expect(lane(page, "game").get_by_label("what player_0 may know")).to_contain_text("Tic Tac Toe")
    typed = lane(page, "game").get_by_label("action of player_0")
    typed.click()
    page.keyboard.type("I take the middle: [4]")
    page.keyboard.press("Enter")
    at_step(page, game=1)
    expect(typed).to_have_value("")
    press(page, "Step all")
    at_step(page, game=2)
    expect(lane(page, "game").get_by_label("what player_0 may know")).to_contain_text("[4]")
    mine, other = literal_eval(printed(notebook, 1))
    assert mine == "I take the middle: [4]" and re.fullmatch(r"\[[0-8]\]", other)
