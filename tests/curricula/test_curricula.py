"""A curriculum is one run: its stages follow each other, end early, stop, go on, and are refused where they
cannot follow each other."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curricula.staged_worker import hiker  # noqa: F401
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.code_text import training_code
from mosaic_lab.widgets.runs.run_panel import RunPanel

HILL, PEAK = mosaic.Stage("Hill-v0", steps=100), mosaic.Stage("Peak-v0", steps=100)


@pytest.fixture
def lab(hiker: Path, tmp_path: Path) -> Iterator[mosaic.Lab]:  # noqa: F811
    lab = mosaic.Lab(tmp_path / "runs", max_running=4)
    yield lab
    lab.stop_all(grace=0)


def hike(lab: mosaic.Lab, *stages: mosaic.Stage, **more: Any) -> mosaic.Curriculum:
    curriculum = lab.train("hiker", algorithm="hike", curriculum=list(stages), **more)
    assert isinstance(curriculum, mosaic.Curriculum)
    return curriculum


def skills(run: mosaic.Run, rate: float = 0.5) -> np.ndarray:
    """The steps of a run's metrics, each of which was reported once and has the skill of an uninterrupted
    training."""
    found = run.metrics("skill")
    assert list(found["value"]) == pytest.approx(list(rate * found["step"]))
    assert found["step"].is_unique and found["step"].is_monotonic_increasing
    return found["step"].to_numpy()


def test_the_stages_are_one_run(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, PEAK)
    curriculum.wait(60)
    assert curriculum.state is State.COMPLETED and curriculum.step == curriculum.total_timesteps == 200
    assert curriculum.label == "hiker hike Hill-v0 → Peak-v0 seed 1"
    assert list(skills(curriculum)) == list(range(1, 201))
    returns = curriculum.episodes()["total_reward"]
    assert len(returns) == 40
    assert (returns[19], returns[20]) == (50.0, 52.5 - 50.0), "the second stage is harder by 50"
    stages = curriculum.stages()
    assert list(stages["env"]) == ["Hill-v0", "Peak-v0"] and list(stages["state"]) == ["done", "done"]
    assert list(stages["start"]) == [0, 100] and list(stages["end"]) == [100, 200]
    first, second = curriculum.stage_runs
    assert (first.curriculum, second.label) == (curriculum.id, "hiker hike Peak-v0 seed 1 stage 2")
    assert second.config["checkpoint"]["resume_from"] == str(first.checkpoints[-1].path)
    assert [saved.step for saved in curriculum.checkpoints] == sorted(
        {saved.step for run in (first, second) for saved in run.checkpoints}
    )
    assert curriculum.checkpoints[-1].path.samefile(second.checkpoints[-1].path)
    assert lab.curriculum(curriculum.id) == curriculum
    with pytest.raises(mosaic.MosaicError, match="is not a curriculum: it is hiker hike Hill-v0"):
        lab.curriculum(first.id)
    curriculum.remove(stages=True)
    assert not lab.runs


def test_a_return_ends_a_stage_early_and_the_steps_that_remain_are_the_last_ones(lab: mosaic.Lab) -> None:
    """Episodes gain 2.5 more each: the mean of 4 is 26.25 at step 60, and 50 less on the peak."""
    stages = [mosaic.Stage("Hill-v0", until=25.0, window=4), mosaic.Stage("Peak-v0", rate=1.0)]
    curriculum = hike(lab, *stages, total_timesteps=700, seconds=0.002)
    curriculum.wait(60)
    table = curriculum.stages()
    assert 25.0 <= table["return"][1] < 200.0 and np.isnan(table["return"][2])
    assert 60 <= table["end"][1] < 500 and table["end"][2] == 700
    steps = curriculum.metrics("rate").set_index("step")["value"]
    assert (steps[: table["end"][1]] == 0.5).all() and steps[700] == 1.0
    first, _ = curriculum.stage_runs
    assert first.state is State.CANCELLED and "its mean return is" in first.reason


def test_a_stop_in_the_second_stage_is_resumed(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Peak-v0", steps=400), seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 150)
    with pytest.raises(mosaic.MosaicError, match="it can be resumed when it has ended"):
        curriculum.resume()
    lab.run(curriculum.id).stop()
    assert curriculum.state is State.CANCELLED and not any(run.alive for run in lab.runs)
    assert list(curriculum.stages()["state"]) == ["done", "stopped"]
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 501))
    assert list(curriculum.stages()["runs"].map(len)) == [1, 2]
    assert list(curriculum.stages()["end"]) == [100, 500]


@pytest.mark.parametrize("keeper", [False, pytest.param(True, marks=pytest.mark.extended)])
def test_a_stage_outlives_a_kill_and_is_taken_over(lab: mosaic.Lab, keeper: bool) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=250), PEAK, seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 30)
    pid = curriculum.status.keeper_pid if keeper else curriculum.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: curriculum.finished)
    (stage,) = curriculum.stage_runs
    before = stage.step or 0
    wait_until(lambda: (stage.step or 0) > before)
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 351))
    assert len(curriculum.stage_runs) == 2 and len(curriculum.episodes()) == 70


def test_a_stage_that_was_stopped_after_a_kill_goes_on(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=150), seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 30)
    pid = curriculum.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: curriculum.finished)
    curriculum.stop()
    assert not any(run.alive for run in lab.runs)
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 151)) and len(curriculum.stage_runs) == 2


def test_a_stage_that_fails_fails_the_run_and_is_tried_again(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Cliff-v0", steps=100))
    with pytest.raises(mosaic.RunFailed, match=r"stage 2 \(Cliff-v0\), run .*fell off"):
        curriculum.wait(60)
    with pytest.raises(mosaic.RunFailed, match="stage 2"):
        curriculum.resume().wait(60)
    assert list(curriculum.stages()["runs"].map(len)) == [1, 2]


def test_several_seeds_are_a_group_of_curricula(lab: mosaic.Lab) -> None:
    group = lab.train("hiker", algorithm="hike", curriculum=[HILL, PEAK], seed=[3, 4])
    assert isinstance(group, mosaic.RunGroup)
    group.wait(60)
    assert [run.seed for run in group] == [3, 4] and [run.step for run in group] == [200, 200]
    assert {run.seed for run in lab.runs if run.curriculum == group[1].id} == {4}
    assert list(lab.group(group.name or "")) == list(group)


def test_the_chart_marks_the_beginning_of_each_stage(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, PEAK)
    curriculum.wait(60)
    panel = RunPanel([curriculum], alone=True)
    try:
        panel.read_rest()
        for x in ("time", "episode", "step"):
            panel.controls.x = x
            panel.draw()
            lines, labels = panel.chart.figure.marks[-2:]
            assert list(labels.text) == ["1 Hill-v0", "2 Peak-v0"]
            first, second = (float(one) for one in labels.x)
            assert np.shape(lines.x) == (2, 2) and first < second
        assert (first, second) == (0.0, 100.0)
        marked = panel.static_picture()
        panel._marks = lambda settings: []  # type: ignore[method-assign]
        assert marked is not None and marked != panel.static_picture()
    finally:
        panel.close()


def test_its_code_makes_it_again(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=50, until=9, window=3, rate=0.25), PEAK, start=1.0)
    again = eval(training_code(curriculum).partition("\n\n")[2], {"lab": lab, "mosaic": mosaic})
    for name in ("curriculum", "hyperparameters", "checkpoint", "total_timesteps"):
        assert again.config[name] == curriculum.config[name]


def test_everything_that_is_wrong_is_said_at_once(lab: mosaic.Lab) -> None:
    stages = [
        mosaic.Stage("Hill-v0", steps=0, seed=3),
        mosaic.Stage("", until="high", window=1.5),  # type: ignore[arg-type]
        {"env": "Peak-v0"},
    ]
    with pytest.raises(mosaic.ConfigurationError) as refused:
        lab.train("hiker", algorithm="hike", curriculum=stages, env="Hill-v0", films="last", stop_at=9)  # type: ignore[arg-type]
    text = str(refused.value)
    for part in (
        "9 problems", "stage 1: steps=0: give a whole number", "stage 1: seed is the same in all stages",
        "stage 2: env='': give an environment id", "stage 2: until='high': give a number",
        "stage 2: window=1.5", "stage 3 is {'env': 'Peak-v0'}", "env='Hill-v0': the stages say which",
        "stop_at=9: the stages say", "films: a curriculum makes none",
    ):  # fmt: skip
        assert part in text
    assert not lab.runs


@pytest.mark.parametrize(
    ("algorithm", "stages", "more", "reason"),
    [
        ("hike", [], {}, "give a list of stages"),
        ("hike", [mosaic.Stage("Hill-v0"), PEAK], {}, "stage 1 has no end before the last stage"),
        ("hike", [mosaic.Stage("Hill-v0", until=1.0)], {}, "total_timesteps: give the steps"),
        ("hike", [HILL, PEAK], {"total_timesteps": 150}, "the stages have 200 steps together"),
        ("hike", [HILL, mosaic.Stage("Peak-v0")], {"total_timesteps": 100}, "leaves none for the others"),
        ("hike", [HILL, mosaic.Stage("Peek-v0", steps=9)], {}, "stage 2: unknown environment 'Peek-v0'"),
        ("hike", [HILL, mosaic.Stage("Cave-v0", steps=9)], {},
         r"stage 2 cannot train on Cave-v0 after Hill-v0: observations are Box\(3\), .* for Box\(2\)"),
        ("hike", [HILL, mosaic.Stage("Peak-v0", steps=9, start=5.0)], {},
         "start: a resumed hiker hike cannot change it: it is where the hike has begun"),
        ("climb", [HILL, PEAK], {}, "hiker climb cannot resume in another environment"),
        ("roll", [HILL, PEAK], {}, "hiker roll: its worker does not say that trainings can end and resume"),
        ("hike", [HILL], {"rate": "fast"}, "stage 1: .*rate"),
    ],
)  # fmt: skip
def test_what_cannot_follow_each_other_is_refused(
    lab: mosaic.Lab, algorithm: str, stages: list[mosaic.Stage], more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(mosaic.ConfigurationError, match=reason):
        lab.train("hiker", algorithm=algorithm, curriculum=stages, **more)
    assert not lab.runs


def test_an_algorithm_of_one_environment_may_change_its_hyperparameters(lab: mosaic.Lab) -> None:
    stages = [HILL, mosaic.Stage("Hill-v0", steps=50, rate=2.0), mosaic.Stage("Hill-v0", steps=50)]
    curriculum = lab.train("hiker", algorithm="climb", curriculum=stages).wait(60)
    rates = curriculum.metrics("rate")["value"].to_numpy()
    changes = [step for step, (one, other) in enumerate(pairwise(rates), 2) if one != other]
    assert changes == [101, 151] and rates[-1] == 0.5
