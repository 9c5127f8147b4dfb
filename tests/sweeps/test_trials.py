"""Trials of a sweep: values over seeds, conditional parameters, pruning, and the order of completion."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import pretend_two_gpus, wait_until
from sweeps import stored
from sweeps.interrupted import started_once

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import launch
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run
from mosaic_lab.sweeps import Sweep
from mosaic_lab.sweeps.plots import sweep_plots
from mosaic_lab.sweeps.space import TrialSearch
from mosaic_lab.sweeps.trials import TrialLog, TrialState, TrialWriter
from mosaic_lab.widgets.sweeps.sweep_panel import states_caption

CLIMB: dict[str, Any] = {"algorithm": "climb", "env": "Hill-v0", "metric": "skill"}


pytestmark = pytest.mark.usefixtures("hiker")


def run_of(sweep: Sweep, number: int, seed: int) -> Run:
    return next(run for run in sweep.runs(number) if run.seed == seed)


def test_trials_get_gpus_of_their_own_among_those_of_the_session(
    lab: mosaic.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_two_gpus(tmp_path, monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bb")
    sweep = lab.sweep(
        "hiker", search={"rate": [0.5, 1.0]}, sampler="grid", trials=2, gpus=1, total_timesteps=5, **CLIMB
    ).wait(120)
    assert [run.gpus for trial in (0, 1) for run in sweep.runs(trial)] == [(1,), (1,)]


def test_the_lowest_interquartile_mean_over_seeds_wins_and_all_its_seeds_play(
    lab: mosaic.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = lab.sweep(
        "hiker", search={"rate": [0.5, 0.2, 1.0]}, sampler="grid", pruner="none", trials=3,
        seeds=range(1, 5), mode="min", aggregate="iqm", spread=1.0, parallel=4, total_timesteps=40, **CLIMB,
    ).wait(120)  # fmt: skip
    frame = sweep.trials()
    climbed = frame["parameters.rate"] * (40 - 9.5)
    assert frame["value"].tolist() == pytest.approx((climbed + (8 + 27) / 2).tolist()), "IQM: seeds 2 and 3"
    assert (frame["low"] < frame["value"]).all() and (frame["value"] < frame["high"]).all()
    assert (frame["low"] > climbed).all() and (frame["high"] < climbed + 65).all()
    assert [trial.number for trial in sweep.ranked()] == [1, 0, 2]
    assert sweep.best is not None and sweep.best.number == 1
    assert repr(sweep.best).startswith("<trial 1: completed, value ")
    assert sweep.metrics("best")["value"].min() == sweep.best.value
    requests: list[EvaluateRequest] = []
    monkeypatch.setattr(launch, "evaluate", lambda supervisor, request: requests.append(request))
    sweep.evaluate(top=2, seeds=[7])
    (played,) = requests
    assert (played.env, played.seeds) == ("Hill-v0", [7])
    assert played.operators is not None and [*played.operators] == ["trial 1", "trial 0"]
    for number, player in zip((1, 0), played.operators.values(), strict=True):
        for seed in range(1, 5):
            [*_, newest] = run_of(sweep, number, seed).checkpoints
            assert player.trainings[f"s{seed}"].settings["checkpoint"] == str(newest.path)
            assert newest.step == 40
    for run in sweep.runs(1):
        shutil.rmtree(run.path)
    for top, problem in ((0, "top=0: must be an integer ≥ 1"), (1, "runs of trial 1 are no longer")):
        with pytest.raises(ConfigurationError, match=problem):
            sweep.evaluate(top=top, seeds=[7])


def test_a_queued_trial_is_shown_as_queued_and_its_time_is_that_of_its_training(
    hiker: Path, tmp_path: Path
) -> None:
    lab = mosaic.Lab(tmp_path / "runs", max_running=1)
    sweep = lab.sweep(
        "hiker", search={"rate": [0.5, 0.2, 1.0]}, sampler="grid", pruner="none", trials=3, parallel=3,
        total_timesteps=100, env_vars={"SLOW_ARE": "low"}, **CLIMB,
    )  # fmt: skip
    seen: set[str] = set()

    def began_and_ended() -> bool:
        seen.add(states_caption(sweep.records))
        return sweep.finished

    wait_until(began_and_ended)
    assert "2 queued, 1 running" in seen
    trained = [sweep.runs(number)[0].elapsed for number in range(3)]
    assert sweep.trials()["seconds"].tolist() == pytest.approx(trained, abs=1.0)
    waited = [trial.idle for trial in sweep.records]
    assert 0 <= waited[0] < waited[1] < waited[2], "time in the queue, one after another"


def test_a_log_read_by_several_threads_has_each_trial_once_with_its_end(tmp_path: Path) -> None:
    writer, generator = TrialWriter(tmp_path), random.Random(0)
    for _ in range(200):
        stored.record(writer, generator)
    log = TrialLog(tmp_path)
    with ThreadPoolExecutor(4) as threads:
        readings = [threads.submit(lambda: sum(not trial.alive for trial in log.read())) for _ in range(8)]
    assert {reading.result() for reading in readings} == {200} and log.damaged == 0


def by_boots(trial: TrialSearch) -> dict[str, Any]:
    boots = trial.choice("boots", ["worn", "new"])
    if boots == "new":
        return {"boots": boots, "rate": trial.loguniform("rate of new boots", 0.1, 10.0)}
    return {"boots": boots, "rate": trial.choice("half steps", [1, 2]) / 2}


def test_what_only_some_trials_have_is_tabled_drawn_and_goes_on(lab: mosaic.Lab) -> None:
    sweep = lab.sweep(
        "hiker", search=by_boots, trials=6, parallel=3, sampler="random", pruner="none", seed=2,
        total_timesteps=30, **CLIMB,
    ).wait(120)  # fmt: skip
    sweep.resume(trials=2).wait(60)
    assert sweep.state is State.COMPLETED and len(sweep.records) == 8 and started_once(lab, sweep)
    frame = sweep.trials()
    new = frame["parameters.boots"] == "new"
    assert 2 <= new.sum() <= 6
    assert (frame["parameters.rate of new boots"].notna() == new).all()
    assert (frame["parameters.half steps"].notna() == ~new).all()
    for trial in sweep.records:
        used = {name: sweep.runs(trial)[0].hyperparameters[name] for name in ("boots", "rate")}
        assert used == trial.hyperparameters
    importance = sweep.importance()
    assert set(importance) == {"boots", "rate of new boots", "half steps"}
    assert sum(importance.values()) == pytest.approx(1)
    plots = sweep_plots(sweep.plan, sweep.records, importance)
    facets = {facet.title: facet for plot in plots for facet in plot.facets}
    assert facets["rate of new boots"].x_label == "log10 rate of new boots"
    points = [len(mark.points[0]) for mark in facets["rate of new boots"].marks if mark.points is not None]
    assert sum(points) == new.sum()


def too_fast(trial: TrialSearch) -> dict[str, Any]:
    return {"rate": trial.uniform("rate", 1, 2), "boots": trial.choice("boots", ["new", "red"]), "speed": 9}


def test_a_search_function_is_checked_before_anything_starts(lab: mosaic.Lab) -> None:
    with pytest.raises(mosaic.ConfigurationError) as refused:
        lab.sweep("hiker", search=too_fast, mode="up", total_timesteps=30, **CLIMB)
    for part in ("3 problems", "mode='up'", "'red' is not one of 'worn', 'good', 'new'", "search['speed']"):
        assert part in str(refused.value)
    assert list(lab.runs) == []


def test_what_falls_behind_is_stopped_with_its_checkpoint_and_the_rest_goes_on(lab: mosaic.Lab) -> None:
    rates = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.1]
    sweep = lab.sweep(
        "hiker", search={"rate": rates}, trials=99, sampler="grid", pruner="median", parallel=2,
        total_timesteps=1500, **CLIMB,
    ).wait(180)  # fmt: skip
    assert [trial.parameters["rate"] for trial in sweep.records] == rates, "the grid has no further values"
    states = [trial.state for trial in sweep.records]
    assert states[:5] == [TrialState.COMPLETED] * 5, "the median rule needs five trials"
    last = sweep.records[6]
    step = max(last.reports)
    assert states[6] is TrialState.PRUNED and last.reason == f"pruned at step {step:,}"
    [stopped] = sweep.runs(6)
    assert stopped.state is State.CANCELLED
    assert stopped.reason.startswith(f"stopped on request: {last.reason}")
    [checkpoint] = stopped.checkpoints
    assert step <= checkpoint.step < 1500 and checkpoint.path.is_file()


def test_in_rounds_the_same_seed_searches_the_same_whatever_ends_first(lab: mosaic.Lab) -> None:
    def sweep(slow: str) -> Sweep:
        return lab.sweep(
            "hiker", search={"rate": mosaic.search.uniform(0.1, 1.0)}, trials=6, parallel=3, rounds=True,
            env_vars={"SLOW_ARE": slow}, total_timesteps=90, **CLIMB,
        ).wait(120)  # fmt: skip

    def first_to_end(sweep: Sweep) -> float:
        """Return the rate of the first round's trial that ended first."""
        runs = [sweep.runs(number)[0] for number in range(3)]
        ended = min(runs, key=lambda run: run.status.history[-1].timestamp)
        return float(ended.hyperparameters["rate"])

    found = {slow: sweep(slow) for slow in ("low", "high")}
    assert first_to_end(found["high"]) < 0.55 < first_to_end(found["low"])
    trials = {slow: [(one.parameters, one.state) for one in sweep.records] for slow, sweep in found.items()}
    assert trials["low"] == trials["high"] and len(trials["low"]) == 6
