"""Comparisons with real environments and operators: lockstep lanes, repeatable episodes, live views."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare, states
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.arenas.tables import episode_rows
from mosaic_lab.errors import ConfigurationError, MosaicError, RunTimeout
from mosaic_lab.fastlane import FrameSource
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.runs.run import Run

CARTPOLE = "CartPole-v1"


def lean(observation: Any) -> int:
    """Push the cart the way the pole leans: about 50 steps per episode; random actions last about 20."""
    return int(observation[2] > 0)


def test_lanes_side_by_side_from_the_facade(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    lanes = {"random": operators.random(), "still": operators.passive(), "mine": lean}
    comparison = lab.compare(env=CARTPOLE, operators=lanes, seeds=[42, 43])
    assert isinstance(comparison, mosaic.Comparison)
    try:
        assert states(comparison) == [("ready", 0)] * 3
        comparison.play()
        comparison.wait(60)
        comparison.next_seed()
        comparison.play()
        comparison.wait(60)
        table = comparison.results()
        assert list(table["lane"]) == ["random", "still", "mine"] * 2
        assert list(table["category"]) == ["random", "passive", "python"] * 2
        assert list(table["seed"]) == [42] * 3 + [43] * 3
        assert (table["return"] == table["length"]).all()
        assert table["terminated"].all()
        assert not table["truncated"].any()
        mine, still = (table[table["lane"] == lane]["return"].mean() for lane in ("mine", "still"))
        assert mine > 30 > 15 > still
        assert not lab.runs
    finally:
        comparison.close()
    assert not marked_processes(tmp_path)
    assert "closed" in repr(comparison)


def test_no_lane_is_a_step_ahead_of_another(start_comparison: Compare) -> None:
    steps_called: list[int] = []

    def noted(observation: Any, step_index: int) -> int:
        steps_called.append(step_index)
        return lean(observation)

    comparison = start_comparison(CARTPOLE, {"a": noted, "b": noted, "random": operators.random()})
    comparison.step()
    assert states(comparison) == [("ready", 1)] * 3
    comparison.step(4)
    assert states(comparison) == [("ready", 5)] * 3
    comparison.play(steps=3)
    comparison.wait(60)
    assert states(comparison) == [("ready", 8)] * 3
    assert comparison.mode == "idle"
    comparison.play()
    comparison.wait(60)
    assert steps_called == sorted(steps_called)


def test_a_finished_lane_waits_for_the_others(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"still": operators.passive(), "mine": lean})
    comparison.step(20)
    assert [lane.state for lane in comparison.lanes] == ["finished", "ready"]
    assert comparison.lanes[1].step == 20
    comparison.play()
    comparison.wait(60)
    with pytest.raises(MosaicError, match=r"no lane can step: still: finished; mine: finished.*next_seed"):
        comparison.step()
    with pytest.raises(MosaicError, match="still cannot step: finished"):
        comparison.step(lane="still")


def test_the_same_lane_twice_is_the_same_episode_step_for_step(start_comparison: Compare) -> None:
    lanes = dict.fromkeys(("random", "again"), operators.random())
    first, second = start_comparison(CARTPOLE, lanes, [7, 8]), start_comparison(CARTPOLE, lanes, [8, 7])
    for comparison, seeds in ((first, (7, 8, 7)), (second, (7, 8))):
        for seed in seeds:
            comparison.reset(seed)
            comparison.play()
            comparison.wait(60)
    played = {
        (number, lane, seed): list(steps["action"])
        for number, comparison in enumerate((first, second))
        for lane in lanes
        for (_, seed), steps in comparison.steps(lane).groupby(["episode_index", "episode_seed"])
    }
    assert len({tuple(actions) for (_, _, seed), actions in played.items() if seed == 7}) == 1
    assert played[0, "random", 7] != played[0, "random", 8][: len(played[0, "random", 7])]
    assert len(first.results().groupby("seed")["return"].unique().loc[7]) == 1
    assert list(first.steps(0).columns) == [
        *("episode_index", "step_index", "agent_id", "action", "reward", "terminated", "truncated"),
        *("episode_seed", "observation_hash", "fault", "end_hash"),
    ]
    replays = second.replay(seed=7)
    assert [replay.operator for replay in replays] == [*lanes] and replays.first_difference is None
    assert [step.actions["agent_0"] for step in replays[0]] == played[1, "random", 7]
    assert [(replay.difference, replay.note) for replay in replays] == [(None, "")] * len(lanes)
    with pytest.raises(ConfigurationError, match="has made no step on seed 9: its seeds are 7, 8"):
        second.replay("random", seed=9)


def test_one_lane_alone_and_then_those_that_are_behind_go_first(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": operators.random(), "b": operators.random()})
    comparison.step(3, lane="a")
    assert states(comparison) == [("ready", 3), ("ready", 0)]
    comparison.step()
    assert states(comparison) == [("ready", 3), ("ready", 1)]
    comparison.step(3)
    assert states(comparison) == [("ready", 4)] * 2


def test_resets_and_seeds(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": operators.random()}, [3, 5])
    comparison.step(2)
    comparison.reset()
    assert (comparison.seed, comparison.lanes[0].step, comparison.lanes[0].progress.episode) == (3, 0, 1)
    assert comparison.next_seed() == 5
    assert comparison.next_seed() == 3
    comparison.reset(seed=99)
    assert comparison.seed == 99
    assert comparison.next_seed() == 3
    comparison.play()
    comparison.reset(5)
    assert (comparison.mode, states(comparison)) == ("idle", [("ready", 0)])


def test_playing_at_a_speed_and_pausing(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": lean, "b": operators.random()})
    began = time.monotonic()
    comparison.play(steps=6, speed=20)
    assert comparison.mode == "playing"
    comparison.wait(30)
    assert 0.24 < time.monotonic() - began < 5
    comparison.play(speed=0.5)
    wait_until(lambda: comparison.lanes[0].step == 7)
    comparison.pause()
    comparison.wait(30)
    assert comparison.mode == "idle"
    assert states(comparison) == [("ready", 7)] * 2
    comparison.play(speed=0.01)
    with pytest.raises(RunTimeout, match="wait\\(\\) did not finish"):
        comparison.wait(0.1)
    comparison.play(steps=1)  # replaces the slow pace at once
    comparison.wait(30)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"operators": {}}, "operators={}: must map names to operators"),
        ({"operators": operators.random()}, "must map names to operators"),
        ({"operators": {"": operators.random()}}, "'' is not a valid lane name"),
        ({"operators": {"a": 7}}, "7 is not an operator"),
        ({"operators": {"a": operators.random}}, "is a function: call it"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [1, -1]}, "seed -1: must be an integer from 0"),
        ({"seeds": [1, 2, 1]}, "seeds has duplicates: 1"),
        ({"seeds": "42"}, "must be a list of integers"),
        ({"seeds": 5}, "seeds=5: write seeds=[5] for this seed, or seeds=range(5) for 5 of them"),
        ({"seeds": [2**32]}, "to 4294967295"),
        ({"policies": 3}, "policies=3: must map agents, teams or patterns to operators"),
        ({"operators": None, "policies": {}}, "policies: no operators given"),
        ({"operators": {"policies": lean}, "policies": {"*": lean}}, "already has a lane 'policies'"),
        ({"step_timeout": 0}, "step_timeout=0: must be a number of seconds > 0"),
        ({"fallback": "cry"}, "fallback='cry'"),
        ({"deadline": -1.0}, "deadline=-1"),
        ({"env_kwargs": {"a": object()}}, "the settings of the environment cannot be written as JSON"),
        ({"env_kwargs": {"api_key": "k"}}, "the setting 'api_key' of the environment looks like a secret"),
        ({"env_kwargs": {"sutton_reward": True}}, "no setting 'sutton_reward': did you mean 'sutton_barto"),
        ({"env": ""}, "env=''"),
        ({"env": "CartPol-v1"}, "Did you mean CartPole-v1"),
        ({"operators": {"a": operators.worker("gymnasium")}}, "worker 'gymnasium' has no operators"),
        ({"family": "random"}, "worker 'random' provides no environments"),
    ],
)
def test_what_cannot_be_is_said_and_leaves_nothing(
    start_comparison: Compare, tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    call: dict[str, Any] = {"env": CARTPOLE, "operators": {"a": operators.random()}, "seeds": [1]} | given
    with pytest.raises(ConfigurationError) as caught:
        start_comparison(call.pop("env"), call.pop("operators"), call.pop("seeds"), **call)
    assert said in str(caught.value)
    assert not marked_processes(tmp_path)
    assert not list(tmp_path.glob("comparisons/*")), "a refused comparison leaves no folder"


def test_bad_arguments_change_nothing(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": operators.random()})
    for call, said in (
        (lambda: comparison.step(0), "n=0"),
        (lambda: comparison.step(lane="b"), "no lane 'b': the lanes are 0 ('a')"),
        (lambda: comparison.play(steps=-1), "steps=-1"),
        (lambda: comparison.play(speed=0), "speed=0"),
        (lambda: comparison.reset(-1), "seed -1"),
        (
            lambda: comparison.act("a", "agent_0", 1),
            "no human operator acts for 'agent_0' in a: it has no human operators",
        ),
    ):
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert said in str(caught.value)
    comparison.step()
    comparison.stop()
    comparison.stop()
    with pytest.raises(MosaicError, match="this comparison was ended"):
        comparison.step()


def test_the_view_is_plain_data_that_stays_as_it_was(start_comparison: Compare) -> None:
    comparison = start_comparison(CARTPOLE, {"a": operators.random(), "b": lean}, [1, 2])
    comparison.step(3)
    view = comparison.view()
    text = json.dumps(view)
    comparison.play()
    comparison.wait(30)
    assert json.dumps(view) == text
    assert (view["env_id"], view["seeds"], view["seed"], view["mode"]) == (CARTPOLE, [1, 2], 1, "idle")
    lane = view["lanes"][1]
    assert (lane["index"], lane["label"], lane["state"], lane["step"]) == (1, "b", "ready", 3)
    assert lane["moves"][0]["action"] in (0, 1)
    assert lane["series"] == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]
    assert (lane["return"], lane["returns"], lane["rewards"]) == (3.0, {"agent_0": 3.0}, {"agent_0": 1.0})
    about = {"name": "lean", "category": "python", "settings": {}, "trained_on": None, "wrappers": []}
    assert lane["operators"] == [{"key": "lean", **about, "agents": ["agent_0"]}]
    assert comparison.view()["lanes"][1]["done"]
    assert len(comparison.view()["episodes"]) == comparison.view()["ended"] == 2
    assert episode_rows(comparison.lanes, newest=1) == comparison.view()["episodes"][-1:]


def test_changes_are_sent_at_most_thirty_times_a_second(start_comparison: Compare) -> None:
    comparison = start_comparison("Pendulum-v1", {"a": operators.random()})
    changes: list[float] = []
    ended: list[str] = []
    unsubscribe = comparison.on_change(lambda: changes.append(time.monotonic()))
    comparison.on_change(lambda: ended.append(comparison.view()["mode"]))
    comparison.on_change(lambda: 1 / 0)  # a failing listener does not affect the others
    began = time.monotonic()
    comparison.play()
    comparison.wait(60)
    comparison.pause()
    seconds = time.monotonic() - began
    wait_until(lambda: ended and ended[-1] == "idle")
    assert 1 <= len(changes) <= 30 * seconds + 3
    unsubscribe()
    count = len(changes)
    comparison.reset()
    wait_until(lambda: len(ended) > count)
    assert len(changes) == count
    comparison.stop()
    assert ended[-1] == "closed"


def test_a_lane_is_a_run_folder_of_this_kernel(start_comparison: Compare, tmp_path: Path) -> None:
    comparison = start_comparison(CARTPOLE, {"a lane / of mine": operators.random()})
    folder = comparison.lanes[0].folder
    assert folder is not None
    assert folder.parent.parent == tmp_path / "comparisons"
    run = Run(folder)
    assert (run.state, run.label, run.worker, run.seed) == ("running", "a lane / of mine", "gymnasium", 42)
    comparison.play()
    comparison.wait(30)
    wait_until(lambda: len(run.episodes()) == 1)
    source = FrameSource(folder)
    frame = wait_until(lambda: source.poll(30.0))
    assert (frame.height, frame.width) == (400, 600)
    source.close()
    comparison.stop()
    assert (run.state, run.reason) == ("completed", "its comparison was ended")
    assert not (folder / "fastlane").exists()
    assert RunStore(tmp_path).folders() == []
    written = json.loads((folder.parent / "comparison.json").read_text())
    assert written["env_id"] == CARTPOLE
    assert any(pin.startswith("gymnasium==") for pin in written["provenance"]["environment"]["freeze"])


def test_an_environment_is_the_same_by_either_of_its_names(start_comparison: Compare) -> None:
    lanes = {"a": operators.passive().with_(trained_on="mpe2/simple_spread_v3")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        start_comparison("simple_spread_v3", lanes)
        start_comparison("mpe/simple_spread_v3", lanes)
    with pytest.warns(UserWarning, match="was trained on mpe2/simple_spread_v3 and acts in simple_tag_v3"):
        start_comparison("simple_tag_v3", lanes)
