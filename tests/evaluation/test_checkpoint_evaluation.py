"""Checkpoint evaluation: a separate run evaluates a training's checkpoints while the training runs."""

from __future__ import annotations

import os
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import wait_until
from sweeps.interrupted import killed

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper import locks
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.curve_model import CurveRequest
from mosaic_lab.overview.curves import curves
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoints import BACKGROUND
from mosaic_lab.runs.kinds import code_of

PATIENCE = 300.0
"""Time limit in seconds: checkpoint evaluations run at low priority."""


pytestmark = pytest.mark.usefixtures("cinema")


@pytest.fixture
def max_running() -> int:
    return 1


def habit(lab: mosaic.Lab, evaluate: Any = None, **hyperparameters: Any) -> Run:
    """Start a training of the worker "cinema" for 300 steps."""
    return lab.train(
        "cinema",
        algorithm="habit",
        env="Cinema-v0",
        total_timesteps=300,
        evaluate=evaluate,
        **hyperparameters,
    )


def evaluator(lab: mosaic.Lab, run: Run) -> Run:
    return [one for one in lab.runs if one.parent == run.id][-1]


def test_each_checkpoint_is_evaluated_and_its_return_is_a_metric_of_the_training(
    lab: mosaic.Lab, tmp_path: Path
) -> None:
    until = tmp_path / "until"
    run = habit(lab, {"seeds": range(3)}, until=str(until))
    wait_until(lambda: len(run.metrics("evaluation/return")) == 3, PATIENCE)
    assert run.alive, "evaluated while the training runs"
    points = run.metrics("evaluation/return")
    assert (list(points["step"]), list(points["value"])) == ([100, 200, 300], [6, 12, 18])
    assert list(run.metrics("evaluation/return_low")["value"]) == [6, 12, 18]
    assert run.best_checkpoint == run.checkpoints[-1]
    until.touch()
    evaluator(lab, run).wait(PATIENCE)
    assert len(run.metrics("evaluation/return")) == 3, "each checkpoint is evaluated once"
    replay = run.replay_checkpoint(200, seed=2)
    assert (sum(replay.returns.values()), replay.difference) == (12, None)
    (player,) = (replay.continued(3).operators or {}).values()
    assert player.settings["checkpoint"] == str(run.checkpoints[1].path), "the policy of step 200"
    assert run.replay_checkpoint().operator == "step 300 (evaluation)"
    with pytest.raises(ConfigurationError, match="seed 7 was recorded: the recorded seeds are 0, 1, 2"):
        run.replay_checkpoint(200, seed=7)
    (curve,) = curves([run], CurveRequest("evaluation/return"), ColumnPool()).lines
    assert len(curve.x) == 3
    assert curve.low is not None and curve.high is not None and list(curve.low) == [6, 12, 18]
    assert 'evaluate={"seeds": range(3)}' in code_of(run)


@pytest.fixture
def turn(lab: mosaic.Lab) -> Iterator[int]:
    """The store's lock for checkpoint evaluations, held as if by another run until the test closes it."""
    place = lab.root / ".slots" / "checkpoint-evaluation"
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = locks.take(place)
    assert lock is not None
    place.write_text("20261128-040000-checkpoint-evaluation-abcd")
    yield lock


def test_what_waits_for_its_turn_says_so(lab: mosaic.Lab, turn: int, tmp_path: Path) -> None:
    until = tmp_path / "until"
    run = habit(lab, {"seeds": [1]}, until=str(until), broken=200)
    wait_until(lambda: len(run.checkpoints) == 3, PATIENCE)
    waiting = evaluator(lab, run)
    text = "waiting for its turn: run 20261128-040000-checkpoint-evaluation-abcd is playing"
    wait_until(lambda: text in waiting.reason, PATIENCE)
    assert waiting.progress_text == "" and waiting.alive
    with pytest.raises(
        MosaicError, match=rf"3 of 3 checkpoints of run {run.id} are not evaluated yet: lab\."
    ):
        _ = run.best_checkpoint
    os.close(turn)
    wait_until(lambda: len(run.metrics("evaluation/return")) == 2, PATIENCE)
    assert text not in waiting.reason
    with pytest.warns(
        UserWarning, match=r"1 of 3 checkpoints .*: lab\.evaluate_checkpoints\(run\)\.wait\(\) waits"
    ):
        assert run.best_checkpoint.step == 300
    until.touch()
    waiting.wait(PATIENCE)
    with warnings.catch_warnings(action="error"):
        assert run.best_checkpoint.step == 300


@pytest.mark.parametrize(
    ("evaluate", "noted"),
    [
        (
            {"seeds": range(2), "until": 11},
            "; its goal was reached at step 200, evaluated after its end: mean return 12 [12, 12], until 11",
        ),
        ({"seeds": range(2), "patience": 1}, ""),  # no goal: patience could only have ended it earlier
    ],
)
def test_a_goal_that_is_reached_after_the_end_of_a_short_training_is_noted(
    lab: mosaic.Lab, turn: int, evaluate: dict[str, Any], noted: str
) -> None:
    actions = {"actions": [1, 3, 2]} if "patience" in evaluate else {}
    run = habit(lab, evaluate, **actions).wait(PATIENCE)
    assert run.reason == "ran to the end"
    os.close(turn)
    evaluator(lab, run).wait(PATIENCE)
    assert (run.state, run.reason) == ("completed", f"ran to the end{noted}")


def test_what_was_left_is_evaluated_later_and_unreadable_checkpoints_are_left_out(lab: mosaic.Lab) -> None:
    run = habit(lab, broken=200).wait(PATIENCE)
    with pytest.raises(MosaicError, match=f"no checkpoint of run {run.id} has been evaluated: train with"):
        _ = run.best_checkpoint
    evaluating = lab.evaluate_checkpoints(run, seeds=[4]).wait(PATIENCE)
    assert list(run.metrics("evaluation/return")["step"]) == [100, 300]
    assert "no evaluation of step 200" in evaluating.log()
    lab.evaluate_checkpoints(run, seeds=[4]).wait(PATIENCE)
    assert len(run.metrics("evaluation/return")) == 2


def test_a_resumed_training_leaves_no_checkpoint_of_the_stopped_one_behind(
    lab: mosaic.Lab, tmp_path: Path
) -> None:
    until = tmp_path / "until"
    run = habit(lab, {"seeds": [1]}, until=str(until))
    wait_until(lambda: len(run.checkpoints) == 3, PATIENCE)
    run.stop()
    until.touch()
    resumed = run.resume()
    for one in (run, resumed):
        evaluator(lab, one).wait(PATIENCE)
        assert list(one.metrics("evaluation/return")["step"]) == [100, 200, 300], "each checkpoint once"


@pytest.mark.extended
def test_a_curriculum_resumed_at_once_after_a_stop_is_filmed_and_evaluated_to_its_end(
    lab: mosaic.Lab, tmp_path: Path
) -> None:
    until = tmp_path / "until"
    run = mosaic.Lab(lab.root, max_running=2).train(
        "cinema", algorithm="habit", curriculum=[mosaic.Stage("Cinema-v0", steps=300)], films="each",
        evaluate={"seeds": [1]}, until=str(until), env_settings={"length": 5, "pause": 0.2},
    )  # fmt: skip
    assert isinstance(run, mosaic.Curriculum)
    wait_until(lambda: len(run.checkpoints) == 3, PATIENCE)
    run.stop().resume()
    until.touch()
    beside = [one.wait(PATIENCE) for one in lab.runs if one.worker in BACKGROUND]
    assert sorted(one.state for one in beside) == ["cancelled"] * 2 + ["completed"] * 2
    assert [film.step for film in run.films] == [100, 200, 300], run.films
    assert list(run.metrics("evaluation/return")["step"]) == [100, 200, 300], "each checkpoint once"


@pytest.mark.extended
def test_evaluations_that_fall_behind_skip_some_checkpoints_but_never_the_last(lab: mosaic.Lab) -> None:
    run = habit(lab, {"seeds": [1]}, saves=30).wait(PATIENCE)
    log = evaluator(lab, run).wait(PATIENCE).log(100)
    steps = list(run.metrics("evaluation/return")["step"])
    assert (steps[0], steps[-1]) == (10, 300)
    assert log.count("skipped: too many checkpoints wait") == 30 - len(steps) > 10


@pytest.mark.parametrize(
    ("evaluate", "reason"),
    [
        ({"seeds": range(2), "until": 11}, "mean return 12 [12, 12], until 11"),
        pytest.param(
            {"seeds": [1], "until_mean": 11}, "mean return 12, until_mean 11", marks=pytest.mark.extended
        ),
        ({"seeds": range(2), "patience": 1}, "no mean return since step 200 was higher than 18"),
    ],
)
def test_a_training_that_has_reached_its_goal_is_completed(
    lab: mosaic.Lab, evaluate: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    actions = {"actions": [1, 3, 2]} if "patience" in evaluate else {}
    run = habit(lab, evaluate, until=str(tmp_path / "never"), **actions).wait(PATIENCE)
    assert run.state == "completed"
    assert re.fullmatch(rf"reached its goal at step \d+ of 300: {re.escape(reason)}", run.reason)
    evaluator(lab, run).wait(PATIENCE)
    assert len(run.metrics("evaluation/return")) == 3, "checkpoints saved before its end are evaluated too"


@pytest.mark.extended
def test_kills_and_stops_at_random_moments_leave_each_checkpoint_evaluated_once(lab: mosaic.Lab) -> None:
    generator, seeds = random.Random(34), range(3)
    slow = {"length": 10, "pause": 0.01}
    run = habit(lab, {"seeds": seeds}, saves=8, env_settings=slow)
    interrupted = 0
    for _ in range(6):
        if generator.random() < 0.3:
            one = evaluator(lab, run)
            wait_until(lambda one=one: one.state != "queued", PATIENCE)  # type: ignore[misc]
            interrupted += one.stop().state == "cancelled"
        else:
            interrupted += killed(evaluator(lab, run), generator, seconds=4.0)
        lab.evaluate_checkpoints(run, seeds)
    evaluator(lab, run).wait(PATIENCE)
    assert interrupted, "no evaluation ended before all checkpoints were evaluated"
    points = run.metrics("evaluation/return")
    assert sorted(points["step"]) == [300 * number // 8 for number in range(1, 9)]
    assert sorted(points["value"]) == [10.0 * number for number in range(1, 9)]


def test_a_sweep_prunes_and_chooses_by_the_newest_evaluated_checkpoint(
    lab: mosaic.Lab, tmp_path: Path
) -> None:
    until = tmp_path / "until"
    sweep = mosaic.Lab(lab.root, max_running=2).sweep(
        "cinema", algorithm="habit", env="Cinema-v0", total_timesteps=300, evaluate={"seeds": range(2)},
        search={"times": [5, 1]}, sampler="grid", trials=2, parallel=2, rounds=True,
        actions=[1, 3, 2], until=str(until),
    )  # fmt: skip
    wait_until(lambda: len(sweep.records) == 2 and sweep.records[1].pruned, PATIENCE)
    until.touch()
    sweep.wait(PATIENCE)
    assert list(sweep.trials()["state"]) == ["completed", "pruned"]
    assert sweep.best is not None and (sweep.best.number, sweep.best.value) == (0, 60)
    assert "best evaluation/return 60" in repr(sweep)
    assert len([run for run in lab.runs if run.worker == "checkpoint-evaluation"]) == 2


def test_a_sweep_that_is_stopped_before_the_last_evaluation_resumes_with_it(lab: mosaic.Lab) -> None:
    slow = {"length": 20, "pause": 0.02}
    sweep = lab.sweep(
        "cinema", algorithm="habit", env="Cinema-v0", total_timesteps=300, evaluate={"seeds": range(2)},
        search={"times": [1]}, trials=1, env_settings=slow,
    )  # fmt: skip
    wait_until(lambda: any(len(run.metrics("evaluation/return")) for run in sweep.trial_runs), PATIENCE)
    sweep.stop()
    assert sweep.runs(0)[0].state == "completed" and sweep.records[0].state == "cancelled"
    sweep.resume().wait(PATIENCE)
    assert sweep.best is not None and sweep.best.value == 60
    (run,) = sweep.trial_runs
    assert list(run.metrics("evaluation/return")["step"]) == [100, 200, 300], "each checkpoint once"


@pytest.mark.parametrize(
    ("evaluate", "reason"),
    [
        (10, 'evaluate=10: give a mapping, such as {"seeds": range(10)}'),
        ({"seed": [1]}, "evaluate has no 'seed'; did you mean 'seeds'"),
        ({"every": 100}, "Each checkpoint is evaluated: checkpoint_every= of lab.train is the number of"),
        ({"seeds": []}, "evaluate: seeds must be distinct integers ≥ 0"),
        ({"seeds": [1], "until": 3}, "evaluate: until needs at least two seeds"),
        ({"patience": 0}, "evaluate: patience=0 must be a number of evaluations"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_starts(
    lab: mosaic.Lab, evaluate: Any, reason: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        habit(lab, evaluate)
    assert reason in str(refused.value)
    assert not lab.runs
