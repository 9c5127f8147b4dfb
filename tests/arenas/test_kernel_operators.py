"""Operators that run in the kernel: user-supplied functions and human players."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arenas.comparison_fixtures import Compare, states
from support import wait_until

from mosaic_lab import operators
from mosaic_lab.arenas import Comparison
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.kernel_operators import KernelOperators
from mosaic_lab.errors import ConfigurationError, RunFailed, RunTimeout
from mosaic_lab.policies import Assignment

CARTPOLE = "CartPole-v1"


class Noting:
    """Policy that records its calls and the threads that made them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.threads: set[str] = set()

    def select_action(
        self, observation: Any, *, action_mask: Any, info: Any, step_index: int, agent: str
    ) -> Any:
        assert isinstance(observation, np.ndarray)
        assert (action_mask, info) == (None, {})
        self.threads.add(threading.current_thread().name)
        self.calls.append((agent, step_index))
        return np.int64(step_index % 2)

    def episode_begin(self, seed: int, episode_index: int) -> None:
        self.calls.append(("begin", seed, episode_index))

    def episode_end(self, total_reward: float, steps: int) -> None:
        self.calls.append(("end", total_reward, steps))


def request_of(comparison: Comparison, lane: int = 0) -> Any:
    return wait_until(lambda: comparison.view()["lanes"][lane]["requests"])


def test_code_of_the_users_runs_in_a_thread_and_hears_of_episodes(start_comparison: Compare) -> None:
    mine = Noting()
    comparison = start_comparison(CARTPOLE, {"mine": operators.python(mine, name="my rule")})
    comparison.play()
    comparison.wait(60)
    steps = comparison.lanes[0].step
    wait_until(lambda: len(mine.calls) == steps + 2)
    begin, *requested, end = mine.calls
    assert begin[0] == "begin"
    assert requested == [("agent_0", step) for step in range(steps)]
    assert end == ("end", float(steps), steps)
    assert mine.threads == {"mosaic-operators"}
    assert list(comparison.results()["operator"]) == ["my rule"]
    comparison.reset()
    assert wait_until(lambda: mine.calls[-1][0] == "begin" and mine.calls[-1]) == ("begin", begin[1], 1)


def test_an_answer_may_say_more_than_the_action(start_comparison: Compare) -> None:
    class Explained:
        action, action_str, reasoning = 1, "right", "the pole leans to the right"

    comparison = start_comparison(CARTPOLE, {"talks": lambda observation: Explained()})
    comparison.step()
    move = comparison.view()["lanes"][0]["moves"][0]
    assert (move["action"], move["action_str"], move["reasoning"]) == (
        1,
        "right",
        "the pole leans to the right",
    )


def test_code_that_fails_stops_its_lane_and_shows_where(start_comparison: Compare) -> None:
    def broken(observation: Any) -> int:
        raise KeyError("no such thing")

    def absurd(observation: Any) -> Any:
        return threading

    class Unspeakable:
        def __repr__(self) -> str:
            raise ValueError("it has no words")

    lanes = {
        "broken": broken,
        "absurd": absurd,
        "unspeakable": lambda observation: Unspeakable(),
        "fine": lambda observation: 0,
    }
    comparison = start_comparison(CARTPOLE, lanes)
    with pytest.warns(
        RuntimeWarning, match=r"broken has failed: .*no such thing.*cmp.restart\('broken'\)"
    ) as said:
        comparison.step(2)
    assert said[0].filename == __file__, "the warning points to the user's line"
    broken_lane, absurd_lane, unspeakable_lane, fine = comparison.lanes
    assert broken_lane.state == "failed"
    assert "KeyError: 'no such thing'" in broken_lane.reason
    assert 'raise KeyError("no such thing")' in broken_lane.log
    assert "module cannot be written as JSON" in absurd_lane.reason
    assert "the action cannot be sent: it has no words" in unspeakable_lane.reason
    assert (fine.state, fine.step) == ("ready", 2)
    comparison.reset()
    assert states(comparison) == [("ready", 0)] * 4


def test_code_that_never_returns_costs_the_others_nothing(start_comparison: Compare) -> None:
    release = threading.Event()

    def stuck(observation: Any, step_index: int) -> int:
        if step_index == 1 and not release.is_set():
            release.wait(60)
        return 0

    comparison = start_comparison(CARTPOLE, {"stuck": stuck, "fine": operators.random()})
    comparison.step()
    with pytest.raises(
        RunTimeout, match=r"step\(1\) did not finish within 0.5 s \(waiting for stuck\); it is still running"
    ):
        comparison.step(timeout=0.5)
    wait_until(lambda: states(comparison) == [("stepping", 1), ("ready", 2)])
    thinking = wait_until(lambda: comparison.view()["lanes"][0]["thinking"])
    assert (thinking["agent"], thinking["operator"]) == ("agent_0", "stuck")
    comparison.reset()
    assert states(comparison) == [("ready", 0)] * 2
    release.set()  # until then it is not called again: user code need not be thread-safe
    comparison.step(4)
    assert states(comparison) == [("ready", 4)] * 2


def test_code_that_never_returns_takes_one_thread_and_no_other_turn(start_comparison: Compare) -> None:
    release = threading.Event()

    def stuck(observation: Any) -> int:
        release.wait(60)
        return 0

    before = set(threading.enumerate())
    late = operators.python(stuck, deadline=0.2, fallback="default")
    patient = operators.python(lambda observation: 1, deadline=None)
    comparison = start_comparison("simple_spread_v3", {"team": {"agent_0": late, "*": patient}})
    for _ in range(5):
        comparison.step()
        moves = comparison.view()["lanes"][0]["moves"]
        assert [(move["fault"], move["action"]) for move in moves] == [("late", 0), (None, 1), (None, 1)]

    def calling() -> list[threading.Thread]:
        return [one for one in set(threading.enumerate()) - before if one.name == "mosaic-operators"]

    wait_until(lambda: len(calling()) == 2)
    release.set()
    comparison.stop()
    wait_until(lambda: not calling())


def test_a_deadline_for_everybody_and_what_happens_then(start_comparison: Compare) -> None:
    lanes = {"slow": lambda observation: time.sleep(5) or 1, "quick": lambda observation: 1}
    comparison = start_comparison(CARTPOLE, lanes, deadline=2.0, fallback="default")
    comparison.step()
    assert states(comparison) == [("ready", 1)] * 2
    moves = [lane["moves"][0] for lane in comparison.view()["lanes"]]
    assert [(move["fault"], move["action"]) for move in moves] == [("late", 0), (None, 1)]
    comparison = start_comparison(CARTPOLE, lanes, deadline=2.0, fallback="forfeit")
    comparison.step()
    assert states(comparison) == [("finished", 0), ("ready", 1)]
    row = comparison.results().iloc[0]
    assert (row["lane"], row["forfeit"], row["faults"], row["truncated"]) == ("slow", "agent_0", 1, True)


def test_a_person_is_waited_for(start_comparison: Compare) -> None:
    lanes = {"you": operators.human(keys={"a": 0, "ArrowLeft": 1}), "random": operators.random()}
    comparison = start_comparison(CARTPOLE, lanes)
    assert comparison.act("you", "agent_0", 1) is False  # no action is due
    with pytest.raises(RunTimeout, match="waiting for you"):
        comparison.step(timeout=0.2)
    requested = request_of(comparison)
    lane = comparison.view()["lanes"][0]
    assert requested == [{"id": requested[0]["id"], "agent": "agent_0", "legal": None}]
    assert lane["keys"] == {"agent_0": {"a": 0, "ArrowLeft": 1, "ArrowRight": 1}}
    assert lane["realtime"] == []
    with pytest.raises(ConfigurationError, match="2 cannot be played by agent_0 now: 2 is not an action fro"):
        comparison.act("you", "agent_0", 2)
    with pytest.raises(
        ConfigurationError,
        match="no human operator acts for 'agent_1' in you: human operators act for agent_0",
    ):
        comparison.act("you", "agent_1", 1)
    with pytest.raises(ConfigurationError, match=r"'right' cannot .*: give one of push left, push right"):
        comparison.act("you", "agent_0", "right")
    assert comparison.act("you", "agent_0", "push right") is True
    comparison.wait(30)
    assert states(comparison) == [("ready", 1)] * 2
    assert comparison.view()["lanes"][0]["moves"][0]["action"] == 1
    comparison.step(timeout=0)
    request_of(comparison)
    comparison.reset()  # drops open requests
    assert comparison.view()["lanes"][0]["requests"] == []
    assert states(comparison) == [("ready", 0)] * 2


def test_a_person_is_queried_until_the_action_is_one(start_comparison: Compare) -> None:
    comparison = start_comparison("Pendulum-v1", {"you": operators.human()})
    comparison.step(timeout=0)
    request = request_of(comparison)
    for action in ({1, 2}, "left", [5.0], True, [float("nan")], [[0.0]], [0.0, 0.0], [[0.0], 1]):
        with pytest.raises(ConfigurationError, match="cannot be played by agent_0 now: "):
            comparison.act("you", "agent_0", action)
    assert request_of(comparison) == request
    assert comparison.act("you", "agent_0", np.float32([0.5])) is True
    wait_until(lambda: states(comparison) == [("ready", 1)])


def test_two_people_take_turns_in_one_environment(start_comparison: Compare) -> None:
    people = {"player_0": operators.human(name="Ann"), "player_1": operators.human(name="Ben")}
    comparison = start_comparison("connect_four_v3", {"game": people})
    comparison.play()
    for turn, column in enumerate([0, 0, 0, 0, 0, 0, 1]):
        request = request_of(comparison)[0]
        assert request["agent"] == f"player_{turn % 2}"
        with pytest.raises(ConfigurationError, match="cannot be played"):
            comparison.act("game", request["agent"], 9)
        assert comparison.act("game", request["agent"], column)
        wait_until(lambda turn=turn: comparison.lanes[0].step == turn + 1)
    assert request_of(comparison)[0]["legal"] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ConfigurationError, match="0 cannot be played by player_1 now"):
        comparison.act("game", "player_1", 0)


def test_in_real_time_the_environment_does_not_wait(start_comparison: Compare) -> None:
    lanes = {"noop": operators.human(realtime=True), "right": operators.human(realtime=True, default=1)}
    comparison = start_comparison(CARTPOLE, lanes)
    played: list[list[int]] = [[], []]

    def step() -> None:
        comparison.step()
        for lane, actions in zip(comparison.view()["lanes"], played, strict=True):
            actions.append(lane["moves"][0]["action"])

    step()
    assert comparison.act("noop", "agent_0", 1)  # key down
    step()
    step()
    comparison.act("noop", "agent_0", None)  # key up
    step()
    for action in (1, None, 1, None):  # two taps between steps count as two
        comparison.act("noop", "agent_0", action)
    for _ in range(4):
        step()
    assert played == [[0, 1, 1, 0, 1, 0, 1, 0], [1] * 8]


def test_an_action_in_real_time_that_cannot_be_sent_is_refused(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"you": operators.human(realtime=True)})
    with pytest.raises(ConfigurationError, match="the action of agent_0 cannot be sent"):
        comparison.act("you", "agent_0", {0, 1})
    comparison.step()
    assert comparison.lanes[0].step == 1


def test_an_arena_that_asks_in_real_time_gets_the_answer_of_the_step(tmp_path: Path) -> None:
    me = operators.human(realtime=True)
    spaces = {"agent_0": {"observation": {"type": "Text"}, "action": {"type": "Discrete", "n": 3}}}
    environment = EnvironmentInfo("Walk-v0", "single_agent", ["agent_0"], spaces)
    answers: list[Any] = []
    played = KernelOperators(
        Assignment({"me": me}, {"agent_0": "me"}), environment, tmp_path, answers.append, lambda call: call()
    )
    for action in (2, None):  # a tap
        played.act("agent_0", action, {})
    for request in (1, 2):
        held = played.held(["agent_0"])
        played.receive({"operator": "me", "agent": "agent_0", "id": request})
        assert answers[-1] == {"cmd": "answer", "id": request, **held["agent_0"]}
    assert [answer.get("action") for answer in answers] == [2, None]
    assert played.held([]) == {}


def test_a_callback_may_press_buttons(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"you": operators.human()})

    def answer() -> None:
        for request in comparison.view()["lanes"][0]["requests"]:
            comparison.act("you", request["agent"], 0)

    comparison.on_change(answer)
    comparison.step(3)
    assert states(comparison) == [("ready", 3)]


def test_when_every_lane_has_failed_it_is_raised(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"only": lambda observation: 5})
    with pytest.raises(RunFailed, match=r"the lane has failed\n\nonly: .*5 is not an action from 0 to 1"):
        comparison.step()
    comparison.restart("only")
    assert states(comparison) == [("ready", 0)]
