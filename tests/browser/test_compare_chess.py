"""A human chess player in a comparison: moves by clicks on the board, by keys and by typing."""

from __future__ import annotations

from pathlib import Path

from browser.comparison import at_step, compare, fact, lane, press, printed, widget
from browser.jupyter import JupyterLab
from playwright.sync_api import Locator, Page, expect

PEOPLE = "{'player_0': operators.human(name='Ann'), 'player_1': operators.human(name='Bob')}"
# After these moves the white a-pawn can promote.
MOVES = "['a2a4', 'b7b5', 'a4b5', 'a7a6', 'b5a6', 'h7h6', 'a6a7', 'h6h5']"
SETUP = """
def play(moves):
    for number, move in enumerate(moves):
        cmp.step(timeout=0)
        agent = f'player_{number % 2}'
        while not cmp.act('game', agent, move):
            pass
        cmp.wait(30)
"""


def square(page: Page, name: str) -> Locator:
    return page.locator(f".mosaic-square[data-square='{name}']")


def targets(page: Page) -> list[str]:
    found = page.locator(".mosaic-square.mosaic-target")
    return sorted(found.evaluate_all("nodes => nodes.map((node) => node.dataset.square)"))


def test_a_person_moves_on_the_board(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    call = f"'chess_v6', {{'game': {PEOPLE}}}, seeds=[1]"
    last = "print([move['action_str'] or move['action'] for move in cmp.view()['lanes'][0]['moves']])"
    notebook = compare(page, jupyterlab, folder, call, f"{SETUP}play({MOVES})", last)
    board = lane(page, "game").get_by_role("grid", name="chess board of player_0")
    expect(board).to_be_visible()
    picture = lane(page, "game").locator("canvas").bounding_box()
    area = board.bounding_box()
    assert picture and area and all(abs(area[side] - picture[side]) < 2 for side in picture)

    square(page, "e2").click()  # by the mouse
    expect(square(page, "e2")).to_have_attribute("aria-selected", "true")
    assert targets(page) == ["e3", "e4"]
    square(page, "d2").click()
    assert targets(page) == ["d3", "d4"]
    square(page, "d6").click()
    assert targets(page) == []
    square(page, "e2").click()
    square(page, "e4").click()
    at_step(page, game=1)
    expect(square(page, "e4")).to_have_attribute("aria-label", "e4 white pawn")
    expect(fact(page, "game", "turn")).to_have_text("player_1")

    square(page, "e4").focus()  # by keys
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(square(page, "e7")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    assert targets(page) == []
    for key in ("Enter", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    at_step(page, game=2)
    expect(square(page, "e5")).to_be_focused()
    expect(square(page, "e5")).to_have_attribute("aria-label", "e5 black pawn")

    typed = lane(page, "game").get_by_label("move of player_0")  # by typing
    typed.fill("e2e4")
    typed.press("Enter")
    expect(widget(page).get_by_role("status").filter(has_text="'e2e4' cannot be played")).to_be_visible()
    typed.fill("g1f3")
    typed.press("Enter")
    at_step(page, game=3)

    press(page, "Reset")
    at_step(page, game=0)
    notebook.run(1)
    at_step(page, game=8)
    square(page, "a7").click()  # a promotion by a capture
    square(page, "b8").click()
    choice = lane(page, "game").get_by_role("group", name="promote to")
    expect(choice.get_by_role("button")).to_have_count(4)
    choice.get_by_role("button", name="knight").click()
    at_step(page, game=9)
    expect(square(page, "b8")).to_have_attribute("aria-label", "b8 white knight")
    assert printed(notebook, 2)
