"""Human players in a comparison: by keys and by buttons, in turns and in real time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.comparison import PERSON, at_step, compare, lane, picture, press, printed, widget
from browser.jupyter import BUSY, JupyterLab
from playwright.sync_api import Page, expect
from support import wait_until


def test_a_person_plays_by_keyboard_while_another_cell_runs(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(page, jupyterlab, folder, PERSON, BUSY, "print(cmp.steps('me')['action'].tolist())")
    notebook.start(1)
    wait_until((folder / "busy").exists)
    cells = page.locator(".jp-Cell").count()
    picture(page, "me").click()
    expect(picture(page, "me")).to_be_focused()
    for number, key in enumerate(("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"), 1):
        page.keyboard.press(key)
        at_step(page, me=number, lean=number)
    for key in "abxdd":  # shortcuts of JupyterLab's command mode
        page.keyboard.press(key)
    at_step(page, me=4)
    assert page.locator(".jp-Cell").count() == cells
    expect(lane(page, "me").locator(".mosaic-move")).to_contain_text("push right")
    press(page, "Run")  # waits for the person at every step
    expect(lane(page, "me")).to_contain_text("your turn")
    at_step(page, me=4, lean=5)
    page.keyboard.press("ArrowLeft")
    at_step(page, me=5, lean=6)
    page.keyboard.press("Escape")
    expect(picture(page, "me")).not_to_be_focused()
    press(page, "Pause")
    press(page, "One step of lean alone")
    at_step(page, me=5, lean=7)
    press(page, "Reset")
    at_step(page, me=0, lean=0)
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    (folder / "go").touch()
    assert printed(notebook, 2).startswith("[1, 0, 0, 1, 0")
    expect(picture(page, "me")).to_have_class(re.compile("mosaic-playable"))
    press(page, "End comparison")
    expect(picture(page, "me")).not_to_have_class(re.compile("mosaic-playable"))


@pytest.mark.extended
def test_after_a_click_on_a_button_the_keys_are_on(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    compare(page, jupyterlab, folder, PERSON, "")
    mine = picture(page, "me")
    for button in ("Run", "Pause", "Next seed", "Reset", "Step all"):
        press(page, button)
        expect(mine).to_be_focused()
    lane(page, "me").get_by_role("button", name="push left").click()
    at_step(page, me=1, lean=1)
    page.keyboard.press("ArrowRight")
    at_step(page, me=2, lean=2)
    run = widget(page).get_by_role("button", name="Run", exact=True)
    run.press("Enter")  # a button pressed by keyboard keeps the focus
    expect(widget(page).get_by_role("button", name="Pause", exact=True)).to_be_focused()
    page.locator(".jp-InputArea-editor").nth(1).click()
    page.keyboard.type("typed")
    expect(page.locator(".jp-InputArea-editor").nth(1)).to_have_text("typed")


@pytest.mark.extended
def test_a_person_plays_by_buttons_and_chooses_keys(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, PERSON, "print(cmp.steps('me')['action'].tolist())")
    left = lane(page, "me").get_by_role("button", name="push left")
    expect(left).to_have_attribute("aria-label", "push left: key ←")
    left.click()
    at_step(page, me=1, lean=1)
    left.focus()
    page.keyboard.press("Enter")
    at_step(page, me=2)
    lane(page, "me").get_by_role("button", name="Keys", exact=True).click()
    lane(page, "me").get_by_role("button", name="push right").click()
    page.keyboard.press("l")
    lane(page, "me").get_by_role("button", name="Done", exact=True).click()
    expect(lane(page, "me").get_by_role("button", name="push right")).to_contain_text("L")
    picture(page, "me").click()
    page.keyboard.press("ArrowRight")  # no longer bound to an action
    page.keyboard.press("l")
    at_step(page, me=3)
    assert printed(notebook, 1) == "[0, 0, 1]"


def test_in_real_time_a_key_counts_while_it_is_held(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    call = "'LunarLander-v3', {'me': operators.human(realtime=True)}, seeds=[1]"
    notebook = compare(page, jupyterlab, folder, call, "print(cmp.steps('me')['action'].tolist())")
    press(page, "Run")
    page.keyboard.down("ArrowUp")
    expect(lane(page, "me").locator(".mosaic-move")).to_contain_text("main engine")
    page.keyboard.up("ArrowUp")
    expect(lane(page, "me").locator(".mosaic-move")).not_to_contain_text("main engine")
    side = lane(page, "me").get_by_role("button", name="left engine")
    side.hover()
    page.mouse.down()
    expect(lane(page, "me").locator(".mosaic-move")).to_contain_text("left engine")
    page.mouse.up()
    expect(lane(page, "me").locator(".mosaic-move")).not_to_contain_text("left engine")
    press(page, "Pause")
    actions = printed(notebook, 1)
    assert set(re.findall(r"\d", actions)) == {"0", "1", "2"}, actions
