"""Sweeps in segments, with real runs: copies and promotions resume checkpoints; each segment starts once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support import wait_until
from sweeps.interrupted import check_segments, killed

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.kinds import code_of
from mosaic_lab.sweeps import Sweep
from mosaic_lab.sweeps.segments import lineage
from mosaic_lab.sweeps.trials import TrialState

CLIMB: dict[str, Any] = {"algorithm": "climb", "env": "Hill-v0", "metric": "skill"}
SEARCH = {"rate": mosaic.search.loguniform(0.1, 10.0), "boots": ["worn", "good", "new"]}
POPULATION: dict[str, Any] = {"sampler": "pbt", "search": SEARCH, **CLIMB}
BOOTS = {"worn": 0.0, "good": 0.1, "new": 0.2}


pytestmark = pytest.mark.usefixtures("hiker")


def climbed(sweep: Sweep, number: int) -> float:
    """Return the value expected of a member, from the schedule of its lineage."""
    height, before, heights = 0.0, 0, []
    for _, segment in lineage(sweep.records, sweep.records[number]):
        rate = segment.parameters["rate"] + BOOTS[segment.parameters["boots"]]
        heights = [height + rate * (step + 1) for step in range(segment.stop - before)]
        height, before = heights[-1], segment.stop
    return sum(heights[-20:]) / len(heights[-20:])


def test_members_copy_checkpoints_and_what_they_find_is_their_schedules(lab: mosaic.Lab) -> None:
    sweep = lab.sweep(
        "hiker", trials=4, seeds=[1, 2], parallel=8, total_timesteps=100, interval=50, **POPULATION
    ).wait(120)
    assert (sweep.state, sweep.done, sweep.progress) == (State.COMPLETED, 8, 1.0)
    check_segments(lab, sweep)
    trials = sweep.records
    assert [len(trial.segments) for trial in trials] == [2] * 4
    sources = [(one.source, trial.number) for trial in trials for one in trial.segments]
    copied = [source for source, number in sources if source is not None and source.trial != number]
    assert len(copied) == 1, "the worst of four copies the best"
    for trial in trials:
        source = trial.segments[1].source
        assert source is not None
        goes_on = trial.segments[1].parameters == trials[source.trial].segments[0].parameters
        assert goes_on is (source.trial == trial.number), "only a copying member explores"
    assert [trial.value for trial in trials] == pytest.approx([climbed(sweep, one) for one in range(4)])
    best = sweep.best
    assert best is not None and best.value == max(trial.value or 0 for trial in trials)
    assert [run.config["checkpoint"]["stop_at"] for run in sweep.runs(best)] == [100, 100]
    schedule = sweep.schedule(best)
    assert list(schedule["stop"]) == [50, 100] and schedule["value"].iloc[-1] == best.value
    assert list(schedule["member"]) == [number for number, _ in lineage(trials, best)]
    assert list(schedule["parameters.rate"])[-1] == best.parameters["rate"]
    assert "interval=50" in code_of(sweep) and 'sampler="pbt"' in code_of(sweep)
    assert "8 of 8 segments" in repr(sweep)
    assert "parameters of a population change" in repr(sweep.importance())
    with pytest.raises(mosaic.ConfigurationError, match="members of a population start together"):
        sweep.resume(trials=1)


@pytest.mark.extended
def test_kills_interrupt_nothing_and_change_no_decision(lab: mosaic.Lab) -> None:
    """No segment starts twice; the same seed gives the same decisions, whichever member is faster."""
    generator = random.Random(11)
    about = {"trials": 4, "total_timesteps": 450, "interval": 150}
    sweep = lab.sweep("hiker", parallel=3, **about, **POPULATION)
    for _ in range(6):
        killed(sweep, generator)
        if sweep.state is State.COMPLETED:
            break
        sweep.resume()
    sweep.wait(240)
    trials = sweep.records
    assert [trial.state for trial in trials] == [TrialState.COMPLETED] * 4
    check_segments(lab, sweep)
    assert [trial.value for trial in trials] == pytest.approx([climbed(sweep, one) for one in range(4)])
    undisturbed = lab.sweep("hiker", parallel=4, **about, **POPULATION).wait(120)
    for trial, other in zip(trials, undisturbed.records, strict=True):
        assert [(one.parameters, one.source, one.value) for one in trial.segments] == [
            (one.parameters, one.source, one.value) for one in other.segments
        ]


def test_the_best_third_is_promoted_and_resumed_from_its_checkpoints(lab: mosaic.Lab) -> None:
    generator = random.Random(3)
    sweep = lab.sweep(
        "hiker", search=SEARCH, pruner="asha-promotion", sampler="random", trials=9, parallel=3,
        total_timesteps=360, **CLIMB,
    )  # fmt: skip
    for _ in range(3):
        killed(sweep, generator)
        if sweep.state is State.COMPLETED:
            break
        sweep.resume()
    sweep.wait(240)
    check_segments(lab, sweep)
    trials = sweep.records
    assert len(trials) == 9 and sweep.done == 9
    assert {run.state for run in lab.runs if run.id != sweep.id} == {State.COMPLETED}, "no run was stopped"
    ended = {stop: [one for one in trials if stop in one.reports] for stop in sweep.plan.stops}
    assert len(ended[40]) == 9 and 3 <= len(ended[120]) <= 5 and len(ended[360]) >= 1
    best = sweep.best
    assert best is not None and best.value == max(one.reports[360] for one in ended[360])
    assert {one.state for one in trials} == {TrialState.COMPLETED, TrialState.PRUNED}
    assert {one.reason for one in trials if one not in ended[120]} == {"not promoted at step 40"}
    fastest = max(trials, key=lambda one: one.reports[40])
    assert fastest.state is TrialState.COMPLETED
    sweep.resume(trials=3).wait(120)
    check_segments(lab, sweep)
    assert len(sweep.records) == 12 and 4 <= sum(120 in one.reports for one in sweep.records) <= 7


@pytest.mark.extended
def test_a_stopped_sweep_does_its_segments_again(lab: mosaic.Lab) -> None:
    sweep = lab.sweep("hiker", trials=2, parallel=2, total_timesteps=4000, interval=1000, **POPULATION)
    wait_until(lambda: sweep.done >= 2 and [run.state for run in sweep.runs(0)] == ["running"])
    sweep.stop()
    assert sweep.state is State.CANCELLED and [run.alive for run in lab.runs if run.alive] == []
    stopped = [trial.segments[-1] for trial in sweep.records if trial.segments[-1].cancelled]
    assert stopped
    sweep.resume().wait(120)
    check_segments(lab, sweep)
    trials = sweep.records
    assert [trial.state for trial in trials] == [TrialState.COMPLETED] * 2
    assert [len(trial.schedule) for trial in trials] == [4, 4]
    assert [trial.value for trial in trials] == pytest.approx([climbed(sweep, one) for one in range(2)])


def test_what_cannot_be_trained_in_segments_is_refused_with_the_reasons(lab: mosaic.Lab) -> None:
    with pytest.raises(mosaic.ConfigurationError) as refused:
        lab.sweep(
            "hiker", sampler="pbt", pruner="median", trials=1, interval=80, total_timesteps=100,
            search={"rate": mosaic.search.loguniform(0.1, 1.0), "start": [0.0, 1.0]},
            resume_from=lab.root, **CLIMB,
        )  # fmt: skip
    for part in (
        'pruner=\'median\': sampler="pbt" needs pruner="none"',
        "trials=1: a population needs at least 2 members",
        "resume_from: trials in segments begin at step 0",
        "interval=80: must be 1 to 50, half of the total",
        "search['start']: a resumed hiker climb cannot change it: it is where the climb has begun",
    ):
        assert part in str(refused.value)
    jump, roll = {**CLIMB, "algorithm": "jump"}, {**CLIMB, "algorithm": "roll"}
    about: dict[str, Any] = {"total_timesteps": 100, "search": {"rate": [0.1, 1.0]}}
    with pytest.raises(mosaic.ConfigurationError, match="hiker jump cannot change it: a jump has no middle"):
        lab.sweep("hiker", sampler="pbt", interval=10, **about, **jump)
    with pytest.raises(
        mosaic.ConfigurationError, match="hiker roll: its worker does not declare that trainings"
    ):
        lab.sweep("hiker", pruner="asha-promotion", **about, **roll)
    with pytest.raises(mosaic.ConfigurationError, match="interval: give the steps after which members"):
        lab.sweep("hiker", sampler="pbt", **about, **CLIMB)
    with pytest.raises(mosaic.ConfigurationError, match="interval='often': must be an integer"):
        lab.sweep("hiker", sampler="pbt", interval="often", **about, **CLIMB)
    with pytest.raises(mosaic.ConfigurationError, match='interval=5: only sampler="pbt" takes one'):
        lab.sweep("hiker", interval=5, **about, **CLIMB)
    with pytest.raises(
        mosaic.ConfigurationError, match="20 trials × 1 seeds × 5,000 segments are 100,000 runs"
    ):
        lab.sweep("hiker", sampler="pbt", interval=1, **{**about, "total_timesteps": 5000}, **CLIMB)
    assert list(lab.runs) == []


def test_a_member_that_fails_leaves_the_others(lab: mosaic.Lab) -> None:
    rates = {"rate": [1.0, 1000.0]}
    sweep = lab.sweep(
        "hiker", sampler="pbt", trials=4, parallel=4, total_timesteps=40, interval=20, search=rates, seed=3,
        **CLIMB,
    ).wait(120)  # fmt: skip
    by_rate = {one.parameters["rate"]: one for one in sweep.records}
    assert by_rate[1000.0].state is TrialState.FAILED and "too steep" in by_rate[1000.0].reason
    assert json.dumps(sorted({str(one.state) for one in sweep.records})) == '["completed", "failed"]'
