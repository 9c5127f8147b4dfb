"""Trainings consist of whole updates: the resulting number of steps is shown beside the requested one."""

from __future__ import annotations

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.curves import setting
from mosaic_lab.overview.difference import difference
from mosaic_lab.overview.rows import run_row
from mosaic_lab.runs.run_labels import title_and_labels
from mosaic_lab.widgets.runs.run_view import RunView
from mosaic_lab.widgets.runs.summary import header_summary

pytestmark = pytest.mark.usefixtures("hiker")


@pytest.fixture
def max_running() -> int:
    return 1


def climb(lab: mosaic.Lab, stride: int, steps: int = 100) -> mosaic.Run:
    run = lab.train("hiker", algorithm="climb", env="Hill-v0", total_timesteps=steps, stride=stride)
    assert isinstance(run, mosaic.Run)
    return run


def steps_shown(run: mosaic.Run) -> list[str]:
    view = RunView(run, run.label, "#000000")
    view.catch_up()
    facts: list[list[str]] = header_summary([view], "", "", "", [view])["facts"]
    return next(fact for fact in facts if fact[1].startswith("steps"))


def test_runs_of_one_total_that_train_other_steps_are_marked(lab: mosaic.Lab) -> None:
    first = climb(lab, 7_000, steps=20_000)
    wait_until(lambda: first.step)
    queued = climb(lab, 40)
    assert queued.state == "queued" and queued.total_timesteps == 80, "known before the run starts"
    assert steps_shown(queued) == ["0 / 80", "steps (100 requested)"]
    first.stop()
    runs = [queued.wait(60), climb(lab, 30).wait(60), climb(lab, 25).wait(60)]
    assert [run.reason for run in runs] == [
        "ran to its last whole update, step 80 (100 requested)",
        "ran to its last whole update, step 90 (100 requested)",
        "ran to the end",
    ]
    assert [run.step for run in runs] == [run.total_timesteps for run in runs] == [80, 90, 100]
    assert [run.progress_text for run in runs] == [
        "80 steps (100 requested)",
        "90 steps (100 requested)",
        "100 steps",
    ]
    assert [steps_shown(run) for run in runs[1:]] == [
        ["90 / 90", "steps (100 requested)"],
        ["100 / 100", "steps"],
    ]
    rows = [run_row(run) for run in runs]
    assert [(row.total_steps, row.requested_steps) for row in rows] == [(80, 100), (90, 100), (100, 100)]
    assert [setting(run, "total_steps") for run in runs] == [80, 90, 100]
    assert title_and_labels(runs)[1] == [
        f"stride={n} ({steps} steps)" for n, steps in ((40, 80), (30, 90), (25, 100))
    ]
    (configuration, *_) = difference(runs[0], runs[1], ColumnPool())
    found = {row.name: (row.values, row.same) for row in configuration.rows}
    assert found["total_timesteps"][1] and found["steps in whole updates"] == (("80", "90"), False)


def test_another_number_of_steps_than_requested_is_said_before_the_start(
    lab: mosaic.Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    climb(lab, 30)
    assert capsys.readouterr().out == "Only whole updates are trained: 90 steps (100 requested).\n"
    climb(lab, 25)
    assert capsys.readouterr().out == ""


def test_a_trial_reports_the_steps_of_its_own_values(lab: mosaic.Lab) -> None:
    about = {"algorithm": "climb", "env": "Hill-v0", "metric": "skill", "pruner": "none"}
    sweep = lab.sweep("hiker", search={"stride": [30, 40]}, sampler="grid", total_timesteps=100, **about)
    sweep.wait(120)
    trained = {run.hyperparameters["stride"]: run.total_timesteps for run in sweep.trial_runs}
    assert trained == {30: 90, 40: 80}
