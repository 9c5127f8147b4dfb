"""Sweeps that are killed and stopped repeatedly: no trial is lost or started twice, and trials resume."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from support import wait_until
from sweeps.interrupted import killed, started_once

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.sweeps import Sweep
from mosaic_lab.sweeps.trials import TrialState

CLIMB: dict[str, Any] = {"env": "Hill-v0", "metric": "skill"}
SEARCH = {"rate": mosaic.search.uniform(0.1, 1.0)}


pytestmark = pytest.mark.usefixtures("hiker")


def check_trials(lab: mosaic.Lab, sweep: Sweep, steps: int) -> None:
    """Assert that each run was started once, from the recorded checkpoint, and that each completed trial has
    the value of an uninterrupted one."""
    assert started_once(lab, sweep)
    for trial in sweep.records:
        for seed, former in trial.former.items():
            *_, last = former
            resumed = lab.run(trial.runs[seed]).config["checkpoint"]["resume_from"]
            assert resumed == (str(lab.root / trial.resumed[seed]) if last.kept else None)
            assert not last.kept or Path(resumed).name == f"step-{last.kept}.npz"
        if trial.state is TrialState.COMPLETED:  # the mean of the last 20 steps
            assert trial.value == pytest.approx(trial.parameters["rate"] * (steps - 9.5))


@pytest.mark.parametrize(
    ("rounds", "kills", "trials"), [(2, 1, 8), pytest.param(5, 4, 40, marks=pytest.mark.extended)]
)
def test_interruptions_lose_no_trial_and_start_none_twice(
    lab: mosaic.Lab, rounds: int, kills: int, trials: int
) -> None:
    """Rounds of kills at random moments, 20 in the extended case; each round ends with a stop."""
    generator = random.Random(7)
    sweep = lab.sweep(
        "hiker", algorithm="climb", search=SEARCH, trials=trials, seeds=[1, 2], parallel=3,
        total_timesteps=400, **CLIMB,
    )  # fmt: skip
    for _ in range(rounds):
        for _ in range(kills):
            assert killed(sweep, generator, seconds=2.0), "the sweep was still searching"
            sweep.resume()
        wait_until(lambda: sweep.status.worker_pid is not None)
        sweep.stop()
        assert sweep.state is State.CANCELLED
        sweep.resume()
    sweep.wait(240)
    assert [trial.number for trial in sweep.records] == list(range(trials))
    usual = {TrialState.COMPLETED, TrialState.PRUNED}
    assert [(one.state, one.reason) for one in sweep.records if one.state not in usual] == []
    check_trials(lab, sweep, 400)


@pytest.mark.parametrize("algorithm", ["climb", pytest.param("roll", marks=pytest.mark.extended)])
def test_a_stopped_sweep_resumes_its_trials_where_it_can(lab: mosaic.Lab, algorithm: str) -> None:
    sweep = lab.sweep(
        "hiker", algorithm=algorithm, search=SEARCH, trials=2, parallel=2, total_timesteps=2000,
        pruner="none", **CLIMB,
    )  # fmt: skip
    wait_until(lambda: sum((run.step or 0) > 100 for run in lab.runs if run.id != sweep.id) == 2)
    with pytest.raises(mosaic.MosaicError, match="no run was removed"):
        sweep.remove(trials=True)
    sweep.stop()
    assert sweep.state is State.CANCELLED and [run.alive for run in lab.runs] == [False] * 3
    assert [trial.state for trial in sweep.records] == [TrialState.CANCELLED] * 2 and sweep.done == 0
    sweep.resume().wait(120)
    assert [trial.state for trial in sweep.records] == [TrialState.COMPLETED] * 2 and sweep.done == 2
    assert len(lab.runs) == 5
    check_trials(lab, sweep, 2000)
    for trial in sweep.records:
        [former] = trial.former[1]
        if algorithm == "climb":
            assert former.kept > 100 and trial.reason == f"seed 1 resumed from step {former.kept:,}"
        else:
            assert former.kept == 0 and trial.reason == "seed 1 started over: hiker roll cannot resume"
    assert list(sweep.trials()["runs"].map(len)) == [2, 2]


@pytest.mark.parametrize("killed_before", [False, True])
def test_a_trial_that_is_stopped_after_its_last_update_is_completed(
    lab: mosaic.Lab, killed_before: bool
) -> None:
    """64 of 100 steps, one stride, are trained: too few remain for another."""
    sweep = lab.sweep(
        "hiker", algorithm="climb", search={"rate": [0.5, 1.0]}, sampler="grid", pruner="none", trials=2,
        stride=64, parallel=1, total_timesteps=100, env_vars={"LINGERS": "yes"}, **CLIMB,
    )  # fmt: skip
    wait_until(lambda: [run.step for run in lab.runs if run.id != sweep.id] == [64])
    pid = sweep.status.worker_pid
    if killed_before and pid is not None:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: sweep.finished)
    sweep.stop()
    sweep.resume(env_vars={"LINGERS": ""}).wait(60)
    assert [trial.state for trial in sweep.records] == [TrialState.COMPLETED] * 2
    assert [trial.value for trial in sweep.records] == pytest.approx([0.5 * (64 - 9.5), 64 - 9.5])
    assert started_once(lab, sweep) and len(lab.runs) == 3


@pytest.mark.parametrize(
    ("trials", "reason"),
    [
        pytest.param(50, "the first 5 trials failed; the last", marks=pytest.mark.extended),
        (2, "none of 2 trials completed; the last"),
    ],
)
def test_trials_that_all_fail_end_the_sweep_with_their_reason(
    lab: mosaic.Lab, trials: int, reason: str
) -> None:
    steep = {"rate": mosaic.search.uniform(101, 200)}
    about = {"algorithm": "climb", "trials": trials, "parallel": 5, "total_timesteps": 5, **CLIMB}
    sweep = lab.sweep("hiker", search=steep, **about)
    with pytest.raises(mosaic.RunFailed, match=f"{reason}: seed 1 failed: .*too steep"):
        sweep.wait(120)
    assert {trial.state for trial in sweep.records[: min(trials, 5)]} == {TrialState.FAILED}
    assert not any(run.alive for run in sweep.trial_runs)
