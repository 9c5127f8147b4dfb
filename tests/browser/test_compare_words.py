"""A person who plays by what the environment says in words: a card that the picture must not show."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.comparison import at_step, compare, lane, press
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
