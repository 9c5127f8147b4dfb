"""A lane reports why its operator died and can be restarted while the other lanes continue."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.comparison import SETUP, at_step, compare, lane, press
from browser.jupyter import JupyterLab
from playwright.sync_api import Page, expect


@pytest.fixture
def odd(odd_home: Path) -> str:
    """Setup code of a cell whose workers misbehave."""
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
