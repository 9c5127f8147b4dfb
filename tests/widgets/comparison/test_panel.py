"""Panel of a comparison without a browser: messages to and from the page, and the panel's lifetime."""

from __future__ import annotations

import gc
import json
import math
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare
from mosaic_contract import pack
from support import marked_processes, rings_open, wait_until
from widgets.pages import bring_up_to_date

from mosaic_lab import operators
from mosaic_lab.arenas import CompareRequest, Comparison, compare
from mosaic_lab.arenas.action_text import action_text
from mosaic_lab.widgets.charts.chart import EMPTY
from mosaic_lab.widgets.comparison import early_keys
from mosaic_lab.widgets.comparison.comparison_panel import ComparisonPanel, panel_of
from mosaic_lab.widgets.comparison.page_state import episodes_table, operator_facts
from mosaic_lab.widgets.comparison.saved_comparison import follow, shows_last_step
from mosaic_lab.widgets.frames.saved_frames import LastFrame
from mosaic_lab.widgets.overview.actions import Tabs

CARTPOLE = "CartPole-v1"


def lean(observation: Any) -> int:
    return int(observation[2] > 0)


def call(panel: ComparisonPanel, *calls: list[Any]) -> None:
    panel.lanes.calls = [*panel.lanes.calls, *calls]


def test_actions_as_people_read_them() -> None:
    np = pytest.importorskip("numpy")
    assert action_text(1, ["left", "right"]) == "right"
    assert action_text(7, ["left", "right"]) == "7"
    assert action_text(0.123456) == "0.123"
    assert action_text([0.0, -1.0], ["hip", "knee"]) == "knee -1"
    assert action_text([0, 0], ["hip", "knee"]) == "all 0"
    assert action_text(pack(np.array([0.5, -1.0], np.float32))) == "[0.5, -1]"


def test_numbers_that_are_none_reach_the_page_as_text() -> None:
    shown = episode_cells({"return": math.nan, "return red": math.inf, "return blue": -math.inf})
    json.dumps(shown, allow_nan=False)
    assert shown["Return"] == {"text": "– (red ∞, blue −∞)", "hint": "red ∞, blue −∞"}
    assert shown["End"]["text"] == "truncated"


def episode_cells(returns: dict[str, float]) -> dict[str, Any]:
    """Cells of an episode with these returns, by column title."""
    facts = {
        "lane": "a",
        "operator": "x",
        "seed": 1,
        "episode_index": 0,
        "length": 3,
        "faults": 0,
        "seconds": 1.0,
    }
    ends = {"terminated": False, "truncated": True, "forfeit": None, "success": None}
    lanes = [{"label": "a", "index": 0}]
    table = episodes_table({"lanes": lanes, "episodes": [returns | facts | ends], "ended": 1})
    (cells,) = table["rows"]
    return {column["title"]: cell for column, cell in zip(table["columns"], cells, strict=True)}


def test_lanes_with_the_same_returns_can_all_be_seen(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, dict.fromkeys("abcd", lean), [5])
    panel = panel_of(comparison)
    bring_up_to_date(panel)
    assert EMPTY in panel.chart.figure._dom_classes, "a chart without steps has no scale to show"
    comparison.step(3)
    bring_up_to_date(panel)
    assert EMPTY not in panel.chart.figure._dom_classes
    drawn = [mark for mark in panel.chart.figure.marks if len(mark.x) and mark.stroke_width]
    from_below = [(mark.stroke_width, mark.line_style) for mark in drawn]
    assert from_below == [(5, "solid"), (5, "dashed"), (2, "solid"), (2, "dashed")], "a line hides another"
    assert [axis.label for axis in panel.chart.figure.axes] == ["steps", "return"]


def facts_of(
    category: str, *, env: str = CARTPOLE, trained_on: str | None = None, **settings: Any
) -> list[str]:
    """Facts on a lane's card about an operator in an episode with seed 42; warnings end with "!"."""
    wrappers = settings.pop("wrappers", [])
    operator = {"category": category, "settings": settings, "trained_on": trained_on, "wrappers": wrappers}
    return [fact.text + "!" * fact.warns for fact in operator_facts(operator, env, 42)]


def test_what_is_shown_of_an_operator_depends_on_its_category() -> None:
    policy = {"checkpoint": "/runs/one/checkpoints/step-000000059904.pt", "trained_on": CARTPOLE}
    assert facts_of("rl", **policy, deterministic=True) == ["step 59,904", "deterministic"]
    assert facts_of("rl", **policy, deterministic=False) == ["step 59,904", "sampling"]
    assert facts_of("rl", **policy, wrappers=["one_hot", "flat"]) == ["step 59,904", "one_hot, flat"]
    assert facts_of("rl", **policy, env="CartPole-v0")[0] == "trained on CartPole-v1!"
    assert facts_of("rl", trained_on="mpe2/simple_spread_v3", env="simple_spread_v3") == []
    assert facts_of("rl", checkpoint="/shared/best.pt") == ["best.pt"]
    assert facts_of("random") == ["uniform, seed 42"]
    assert facts_of("human", realtime=False) == ["turn by turn"]
    assert facts_of("human", realtime=True) == ["in real time"]
    assert facts_of("llm", model="small-1") == facts_of("vlm", model="small-1") == ["small-1"]
    assert facts_of("llm") == []


def test_a_tab_that_comes_back_shows_the_open_comparison_of_its_runs(start_comparison: Compare) -> None:
    tabs, runs = Tabs(), ("first", "second")
    assert tabs.comparison_of(runs) is None
    model_id = tabs.open_comparison(runs, start_comparison(CARTPOLE, {"a": lean}, [5]))
    assert tabs.comparison_of(runs) == model_id
    assert tabs.comparison_of(runs[:1]) is None
    tabs.close(model_id)
    assert tabs.comparison_of(runs) is None


def test_what_the_page_requests_is_done_once(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": lean, "b": lean}, [5, 6])
    panel = panel_of(comparison)
    assert panel_of(comparison) is panel
    call(panel, ["page", 1, "step", {}])
    wait_until(lambda: [lane.step for lane in comparison.lanes] == [1, 1])
    call(panel, ["page", 2, "step_lane", {"lane": 0}])  # sent together with the first call again
    wait_until(lambda: [lane.step for lane in comparison.lanes] == [2, 1])
    call(panel, ["another page", 1, "next_seed", {}])
    wait_until(lambda: comparison.seed == 6 and [lane.step for lane in comparison.lanes] == [0, 0])
    call(panel, ["page", 3, "reset", {"seed": -1}])
    assert "seed -1" in panel.lanes.said["text"]
    call(panel, ["page", 4, "no such button", {}])
    assert panel.lanes.said["level"] == "error"
    json.dumps(panel.lanes.state, allow_nan=False)


def moved_to(step: int, panel: ComparisonPanel, comparison: Comparison) -> bool:
    """Refresh the panel; whether both lanes are at this step."""
    bring_up_to_date(panel)
    return [lane.step for lane in comparison.lanes] == [step] * 2


def test_a_key_that_is_pressed_while_nothing_moves_makes_a_step(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"me": operators.human(), "b": lean})
    panel = panel_of(comparison)
    for number, action in enumerate((1, 0, 1), 1):
        call(panel, ["page", number, "press", {"lane": 0, "agent": "agent_0", "action": action}])
        wait_until(partial(moved_to, number, panel, comparison))
    assert list(comparison.steps("me")["action"]) == [1, 0, 1]


def test_a_key_pressed_before_its_turn_is_shown_as_kept_or_refused(
    start_comparison: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_keys, "EARLY_SECONDS", 600.0)  # however slow the machine is
    monkeypatch.setattr(early_keys, "REFUSAL_SECONDS", 600.0)
    people = {"player_1": operators.human(), "player_2": operators.human()}
    game = panel_of(start_comparison("tictactoe_v3", {"game": people}))
    call(game, ["page", 1, "press", {"lane": 0, "agent": "player_2", "action": 3}])
    assert early(game, "player_2") == "cell 4 refused: it is player_1's turn"
    go = threading.Event()
    slow = lambda observation: go.wait(30) and 0  # noqa: E731
    comparison = start_comparison(CARTPOLE, {"me": operators.human(), "slow": slow})
    panel = panel_of(comparison)
    comparison.play()
    wait_until(lambda: comparison.view()["lanes"][0]["requests"])
    for number, action in enumerate((1, 0), 1):
        call(panel, ["page", number, "press", {"lane": 0, "agent": "agent_0", "action": action}])
    assert early(panel, "agent_0") == "push left kept for your turn"
    monkeypatch.setattr(early_keys, "EARLY_SECONDS", 0.0)
    assert early(panel, "agent_0") == "push left refused: your turn did not come within 0 s"
    monkeypatch.setattr(early_keys, "EARLY_SECONDS", 600.0)
    for number, action in enumerate((1, 0), 3):
        call(panel, ["page", number, "press", {"lane": 0, "agent": "agent_0", "action": action}])
    assert early(panel, "agent_0").endswith("push right, push left kept for your turn")
    monkeypatch.setattr(early_keys, "EARLY_SECONDS", 0.0)
    late = "push left, push right, push left refused: your turn did not come within 0 s"
    assert early(panel, "agent_0") == late
    monkeypatch.setattr(early_keys, "EARLY_SECONDS", 600.0)
    for number, action in enumerate((1, 0, 1, 0), 5):
        call(panel, ["page", number, "press", {"lane": 0, "agent": "agent_0", "action": action}])
    lost = "push left refused: 3 keys are kept already"
    assert early(panel, "agent_0") == f"{lost}; push right, push left, push right kept for your turn"
    go.set()
    wait_until(lambda: early(panel, "agent_0") == lost and comparison.lanes[0].step == 4)
    assert list(comparison.steps("me")["action"]) == [1, 1, 0, 1]


def test_a_person_reads_the_mission(start_comparison: Compare) -> None:
    panel = panel_of(start_comparison("MiniGrid-Empty-5x5-v0", {"me": operators.human()}))
    (person,) = panel.lanes.state["lanes"][0]["people"]
    assert person["text"] == "Mission: get to the green goal square"


def early(panel: ComparisonPanel, agent: str) -> str:
    """Refresh the panel; return the first lane's notice about keys that this person pressed too early."""
    bring_up_to_date(panel)
    people = {person["agent"]: person["early"] for person in panel.lanes.state["lanes"][0]["people"]}
    return str(people[agent])


def test_being_shown_keeps_no_comparison_alive(tmp_path: Path) -> None:
    comparison = compare(tmp_path, CompareRequest(env=CARTPOLE, operators={"a": lean}, seeds=[1]))
    panel = panel_of(comparison)
    assert marked_processes(tmp_path)
    del comparison
    gc.collect()
    wait_until(lambda: not marked_processes(tmp_path))
    bring_up_to_date(panel)
    assert panel.lanes.state["mode"] == "closed"
    call(panel, ["page", 1, "step", {}])
    assert "was ended" in panel.lanes.said["text"]


def test_the_panel_of_an_ended_comparison_lives_while_a_viewer_may_expand_exchanges(
    start_comparison: Compare,
) -> None:
    comparison = start_comparison(CARTPOLE, {"a": lean})
    panel = ComparisonPanel(comparison)
    panel.start()
    panel.on_presence([["view", 0, True]])
    comparison.stop()
    wait_until(lambda: panel.lanes.state["mode"] == "closed")
    panel.lanes.language[0].opened = True
    wait_until(lambda: panel.lanes.language[0].shown)
    assert not panel.finished and not panel.closed


def test_the_panel_of_a_comparison_that_is_gone_is_closed(tmp_path: Path) -> None:
    comparison = compare(tmp_path, CompareRequest(env=CARTPOLE, operators={"a": lean}, seeds=[1]))
    panel = ComparisonPanel(comparison)
    panel.start()
    panel.on_presence([["view", 0, True]])
    del comparison
    gc.collect()
    wait_until(lambda: panel.closed)


def test_of_a_lane_that_has_ended_its_last_frame_is_kept_and_no_ring(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": lean})
    last, before = LastFrame(Path()), rings_open()

    def shows() -> bool:
        nonlocal last
        (lane,) = comparison.view()["lanes"]
        last = follow(last, lane)
        return shows_last_step(last, lane)

    comparison.step()
    wait_until(shows)
    assert rings_open() > before
    comparison.stop()
    assert shows()
    assert rings_open() == before
