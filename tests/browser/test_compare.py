"""Comparisons as users see them in JupyterLab: lanes side by side, buttons, people at the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.frames import BUSY, SOON_MS, opened
from browser.jupyter import JupyterLab, Notebook
from playwright.sync_api import Locator, Page, expect
from support import marked_processes, wait_until

SETUP = """import mosaic_lab as mosaic
from mosaic_lab import operators
lab = mosaic.Lab()
def lean(observation):
    return int(observation[2] > 0)
"""
INSTALL_MS = 300_000  # the first test builds the environments of the workers


def compare(
    page: Page, jupyterlab: JupyterLab, folder: Path, call: str, *cells: str, setup: str = SETUP
) -> Notebook:
    """A notebook with ``lab.compare(call)`` shown in its first cell."""
    page.set_default_timeout(SOON_MS)
    notebook = opened(page, jupyterlab, folder, f"{setup}cmp = lab.compare({call})\ncmp", *cells)
    notebook.start(0)
    expect(widget(page)).to_be_visible(timeout=INSTALL_MS)
    notebook.status("Idle")
    return notebook


def widget(page: Page) -> Locator:
    return page.locator(".mosaic-comparison")


def press(page: Page, name: str) -> None:
    widget(page).get_by_role("button", name=name, exact=True).click()


def lane(page: Page, label: str) -> Locator:
    return page.get_by_label(f"lane {label}", exact=True)


def fact(page: Page, label: str, name: str) -> Locator:
    return lane(page, label).locator(f".mosaic-fact[data-name='{name}'] b")


def at_step(page: Page, **steps: int | str) -> None:
    for label, step in steps.items():
        expect(fact(page, label, "step")).to_have_text(str(step), timeout=SOON_MS)


def seed(page: Page) -> Locator:
    return widget(page).get_by_label("Seed", exact=True)


def drawn(page: Page) -> list[int]:
    """Frames drawn so far, a number a lane."""
    counts = page.locator(".mosaic-lanes").evaluate("element => element.mosaicFrames.drawn")
    assert isinstance(counts, list)
    return counts


def printed(notebook: Notebook, index: int) -> str:
    notebook.run(index)
    return notebook.output(index).first.inner_text().strip()


def picture(page: Page, label: str) -> Locator:
    return lane(page, label).locator(".mosaic-stage")


TWO = "'CartPole-v1', {'lean': lean, 'random': operators.random()}, seeds=[42, 43, 44]"
PERSON = "'CartPole-v1', {'me': operators.human(), 'lean': lean}, seeds=[42]"


def test_the_buttons_do_what_they_say(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, TWO, "print(cmp.mode)")
    at_step(page, lean=0, random=0)
    alive = page.locator("#jp-main-statusbar .mosaic-RunsAlive")
    expect(alive).to_have_text("1 comparison alive", timeout=SOON_MS)
    wait_until(lambda: min(drawn(page)) > 0)
    first = drawn(page)
    press(page, "Step all")
    at_step(page, lean=1, random=1)
    wait_until(lambda: all(now > then for now, then in zip(drawn(page), first, strict=True)))
    expect(lane(page, "random").locator(".mosaic-move")).to_contain_text(re.compile("push (left|right)"))
    press(page, "One step of lean alone")
    at_step(page, lean=2, random=1)
    press(page, "Step all")
    at_step(page, lean=2, random=2)
    press(page, "Run")
    expect(widget(page).get_by_role("button", name="Pause", exact=True)).to_be_visible()
    wait_until(lambda: int(fact(page, "lean", "step").inner_text()) > 4)
    press(page, "Pause")
    expect(widget(page).get_by_role("button", name="Run", exact=True)).to_be_visible()
    page.wait_for_timeout(500)
    step = fact(page, "lean", "step").inner_text()
    page.wait_for_timeout(500)
    assert fact(page, "lean", "step").inner_text() == step
    press(page, "Reset")
    at_step(page, lean=0, random=0)
    expect(seed(page)).to_have_value("42")
    press(page, "Next seed")
    expect(seed(page)).to_have_value("43")
    seed(page).fill("7")
    seed(page).press("Enter")
    at_step(page, lean=0, random=0)
    wait_until(lambda: printed(notebook, 1) == "idle")
    seed(page).fill("-5")
    press(page, "Reset")
    expect(widget(page).get_by_role("status").filter(has_text="still on seed 7")).to_be_visible()
    widget(page).get_by_label("Seeds of the list").select_option("44")
    expect(seed(page)).to_have_value("44")
    press(page, "Stop")
    expect(widget(page).get_by_role("button", name="Stopped")).to_be_disabled()
    assert printed(notebook, 1) == "closed"
    expect(alive).to_have_text("0 runs alive", timeout=SOON_MS)


def test_episodes_run_to_their_end_and_are_listed(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, TWO, "print(cmp.results()['length'].tolist())")
    slider = widget(page).get_by_label("Steps a second")
    slider.press("End")
    expect(widget(page).get_by_text("max", exact=True)).to_be_visible()
    press(page, "Run")
    rows = widget(page).locator(".mosaic-episodes tbody tr")
    expect(rows).to_have_count(2, timeout=SOON_MS)
    expect(lane(page, "lean")).to_contain_text("terminated")
    lengths = [int(row.locator("td").nth(4).inner_text()) for row in rows.all()]
    assert sorted(lengths) == sorted(map(int, re.findall(r"\d+", printed(notebook, 1))))
    expect(widget(page).get_by_role("button", name="Step all")).to_be_disabled()
    expect(widget(page).locator("caption")).to_have_text("Finished episodes: 2")
    press(page, "Next seed")
    at_step(page, lean=0, random=0)
    press(page, "Run")
    expect(rows).to_have_count(4, timeout=SOON_MS)
    # What will be saved is there, and hidden as long as the widget lives.
    saved = page.locator(".mosaic-still")
    expect(saved.locator("tbody tr")).to_have_count(4, timeout=SOON_MS)
    expect(saved).to_be_hidden()
    picture_of_it = page.locator(".jp-OutputArea-output img")
    expect(picture_of_it).to_have_count(1)
    expect(picture_of_it).to_be_hidden()


def test_buttons_work_while_another_cell_runs(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, PERSON, BUSY)
    notebook.start(1)
    wait_until((folder / "busy").exists)
    picture(page, "me").click()
    page.keyboard.press("ArrowRight")
    at_step(page, me=1, lean=1)
    press(page, "One step of lean alone")
    at_step(page, me=1, lean=2)
    press(page, "Reset")
    at_step(page, me=0, lean=0)
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")


def test_a_person_plays_by_keyboard(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, PERSON, "print(cmp.steps('me')['action'].tolist())")
    cells = page.locator(".jp-Cell").count()
    picture(page, "me").click()
    expect(picture(page, "me")).to_be_focused()
    for number, key in enumerate(("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"), 1):
        page.keyboard.press(key)
        at_step(page, me=number, lean=number)
    for key in "abxdd":  # JupyterLab's own keys, in a notebook that is not being edited
        page.keyboard.press(key)
    at_step(page, me=4)
    assert page.locator(".jp-Cell").count() == cells
    expect(lane(page, "me").locator(".mosaic-move")).to_contain_text("push right")
    press(page, "Run")  # now it waits for the person, again and again
    expect(lane(page, "me")).to_contain_text("your turn")
    at_step(page, me=4, lean=5)
    page.keyboard.press("ArrowLeft")
    at_step(page, me=5, lean=6)
    page.keyboard.press("Escape")
    expect(picture(page, "me")).not_to_be_focused()
    press(page, "Pause")
    assert printed(notebook, 1).startswith("[1, 0, 0, 1, 0")
    expect(picture(page, "me")).to_have_class(re.compile("mosaic-playable"))
    press(page, "Stop")
    expect(picture(page, "me")).not_to_have_class(re.compile("mosaic-playable"))


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
    run.press("Enter")  # whoever goes through the page with keys is not taken elsewhere
    expect(widget(page).get_by_role("button", name="Pause", exact=True)).to_be_focused()
    page.locator(".jp-InputArea-editor").nth(1).click()
    page.keyboard.type("typed")
    expect(page.locator(".jp-InputArea-editor").nth(1)).to_have_text("typed")


def test_the_arrow_keys_move_the_speed(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    compare(page, jupyterlab, folder, TWO)
    slider = widget(page).get_by_label("Steps a second")
    slider.click()
    slider.press("Home")
    for key, speed in (("ArrowRight", "2/s"), ("ArrowRight", "5/s"), ("ArrowLeft", "2/s")):
        page.keyboard.press(key)
        expect(widget(page).locator("output")).to_have_text(speed)


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
    page.keyboard.press("ArrowRight")  # is nobody's key any more
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


def test_two_people_play_in_one_environment(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    people = "{'adversary_0': operators.human(), 'agent_0': operators.human()}"
    call = f"'simple_push_v3', {{'two': {people}}}, seeds=[1]"
    shown = "print(cmp.steps('two')[['agent_id', 'action']].values.tolist())"
    notebook = compare(page, jupyterlab, folder, call, shown)
    expect(lane(page, "two").get_by_role("button", name="move left")).to_have_count(2)
    picture(page, "two").click()
    page.keyboard.press("ArrowLeft")
    expect(lane(page, "two").get_by_text("your turn")).to_have_count(1)  # the other one's
    at_step(page, two=0)
    page.keyboard.press("w")
    at_step(page, two=1)
    assert sorted(re.findall(r"'(\w+)', (\d)", printed(notebook, 1))) == [
        ("adversary_0", "1"),
        ("agent_0", "4"),
    ]


def test_whose_turn_it_is(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    """A game of turns with the same keys for both: they belong to whoever is asked."""
    people = "{'player_1': operators.human(name='Ann'), 'player_2': operators.human(name='Bob')}"
    notebook = compare(
        page,
        jupyterlab,
        folder,
        f"'tictactoe_v3', {{'game': {people}}}, seeds=[1]",
        "print(cmp.steps('game')['action'].tolist())",
    )
    turn = fact(page, "game", "turn")
    expect(turn).to_have_text("player_1")
    picture(page, "game").click()
    page.keyboard.press("1")
    expect(turn).to_have_text("player_2")
    at_step(page, game=1)
    page.keyboard.press("1")  # is taken: nothing happens but a word about it
    expect(widget(page).get_by_role("status").filter(has_text="cannot be played")).to_be_visible()
    page.keyboard.press("2")
    expect(turn).to_have_text("player_1")
    at_step(page, game=2)
    assert printed(notebook, 1) == "[0, 1]"


@pytest.fixture
def odd(odd_home: Path) -> str:
    """What a cell starts with whose workers misbehave."""
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
    expect(widget(page).locator(".mosaic-episodes tbody td").nth(6)).to_have_text("2")
    expect(lane(page, "wrong")).to_contain_text("truncated")


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
    expect(lane(page, "model").get_by_text("Its reasons will stand here.")).to_be_visible()
    press(page, "Step all")
    at_step(page, model=1, brief=1, long=1)
    expect(lane(page, "model").locator(".mosaic-reasoning")).to_have_text(
        re.compile("Nothing .* So I go on.")
    )
    expect(lane(page, "model").locator(".mosaic-move")).to_contain_text("1,234 → 56 tokens")
    expect(lane(page, "brief").get_by_text("I saw 0.")).to_be_visible()
    whole = lane(page, "long").locator("pre", has_text="I saw 0. I saw 0.")
    expect(whole).to_be_hidden()
    lane(page, "long").get_by_text("Reasoning").click()
    expect(whole).to_be_visible()


def test_a_restarted_kernel_is_said(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    notebook = compare(page, jupyterlab, folder, PERSON)
    press(page, "Step all")
    at_step(page, lean=1)
    notebook.restart_kernel()
    expect(widget(page)).to_contain_text("The kernel no longer answers", timeout=SOON_MS)
    wait_until(lambda: not marked_processes(folder))
    notebook.run(0)
    press(page, "Step all")
    at_step(page, lean=1)


def test_two_views_of_one_comparison_and_a_narrow_page(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(page, jupyterlab, folder, TWO, "cmp")
    notebook.run(1)
    expect(widget(page)).to_have_count(2)
    widget(page).first.get_by_role("button", name="Step all").click()
    for view in widget(page).all():
        expect(view.get_by_label("lane lean").locator(".mosaic-fact b").first).to_have_text("1")
    widget(page).last.get_by_role("button", name="Step all").click()
    for view in widget(page).all():
        expect(view.get_by_label("lane lean").locator(".mosaic-fact b").first).to_have_text("2")
    page.set_viewport_size({"width": 640, "height": 900})
    page.wait_for_timeout(500)
    assert widget(page).first.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


def test_a_comparison_that_ended_out_of_sight_is_up_to_date_when_it_is_seen_again(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    tall = "from IPython.display import HTML\nHTML('<div style=\"height:3000px\">tall</div>')"
    plays = "for seed in cmp.seeds:\n    cmp.reset(seed)\n    cmp.play()\n    cmp.wait(60)\ncmp.stop()"
    notebook = compare(page, jupyterlab, folder, TWO, tall, plays)
    at_step(page, lean=0, random=0)
    notebook.run(1)
    notebook.run(2)
    widget(page).scroll_into_view_if_needed()
    expect(widget(page).get_by_role("button", name="Stopped")).to_be_disabled()
    expect(seed(page)).to_have_value("44")
    expect(widget(page).locator("tbody tr")).to_have_count(6)
    expect(page.locator(".mosaic-still").first).to_contain_text("seed 44, closed")


def test_a_reloaded_page_goes_on_with_the_comparison(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(page, jupyterlab, folder, TWO)
    press(page, "Step all")
    at_step(page, lean=1, random=1)
    page.keyboard.press("Control+s")
    wait_until(lambda: "mosaic-still" in (folder / "work.ipynb").read_text())
    notebook.reload()
    at_step(page, lean=1, random=1)
    press(page, "Step all")
    at_step(page, lean=2, random=2)


def test_a_cell_that_is_run_again_leaves_no_processes_behind(
    page: Page, jupyterlab: JupyterLab, folder: Path
) -> None:
    notebook = compare(page, jupyterlab, folder, TWO)
    many = len(marked_processes(folder))
    assert many >= 3  # two arenas, an operator
    notebook.run(0)
    wait_until(lambda: len(marked_processes(folder)) == many)
    press(page, "Step all")
    at_step(page, lean=1, random=1)
