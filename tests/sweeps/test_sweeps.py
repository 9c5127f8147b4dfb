"""Sweeps with real runs: each trial is an ordinary run; calls, files and code define the same sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import wait_until
from sweeps.interrupted import started_once

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.runs.kinds import code_of
from mosaic_lab.sweeps.sweep import read_sweep
from mosaic_lab.widgets.overview.workspace import charted_runs
from mosaic_lab.widgets.sweeps.sweep_panel import SweepPanel

WALK: dict[str, Any] = {"algorithm": "walk", "env": "Hill-v0", "metric": "height"}
RATES = {"learning_rate": mosaic.search.uniform(0.1, 1.0)}


pytestmark = pytest.mark.usefixtures("toy")


def height(rate: float, steps: int) -> float:
    """Return the result of a walk: the mean of its last 20 heights."""
    return rate * (steps - 10.5)


def test_the_best_trial_is_found_and_each_is_an_ordinary_run(lab: mosaic.Lab) -> None:
    sweep = lab.sweep(
        "toy", search=RATES, trials=4, seeds=[1, 2], parallel=4, pruner="none", total_timesteps=100, **WALK
    )
    sweep.wait(120)
    assert (sweep.state, sweep.done, sweep.progress) == (State.COMPLETED, 4, 1.0)
    trials = {run.id for run in sweep.trial_runs}
    assert {run.id for run in charted_runs([sweep])} == {run.id for run in charted_runs(lab.runs)} == trials
    frame = sweep.trials()
    assert list(frame["state"]) == ["completed"] * 4
    rates = frame["parameters.learning_rate"]
    assert frame["value"].tolist() == pytest.approx([height(rate, 100) for rate in rates])
    best = sweep.best
    assert best is not None and best.number == rates.idxmax()
    assert [run.hyperparameters["learning_rate"] for run in sweep.runs(best)] == [rates.max()] * 2
    assert [run.seed for run in lab.group(f"{sweep.id}-trial-{best.number}")] == [1, 2]
    assert sweep.runs(best)[0].label == f"toy walk Hill-v0 trial {best.number} seed 1"
    assert sweep.metrics("best")["value"].max() == best.value
    assert sweep.plan.training.config["hyperparameters"] == {}, "nothing of the validated trial remains"
    again = lab.run(sweep.id[-4:])
    assert again == sweep and f"best height {best.value:.5g} with learning_rate=" in repr(again)
    assert started_once(lab, sweep)
    assert code_of(sweep) == (
        'import mosaic_lab as mosaic\n\nlab.sweep(\n    "toy",\n    algorithm="walk",\n    env="Hill-v0",\n'
        "    total_timesteps=100,\n"
        '    search={"learning_rate": mosaic.search.uniform(0.1, 1.0)},\n    trials=4,\n    seeds=[1, 2],\n'
        '    metric="height",\n    pruner="none",\n    parallel=4,\n)'
    )
    assert read_sweep(sweep.path / "request.json").code() == code_of(sweep), "the file defines the same sweep"
    trial = json.loads((sweep.trial_runs[0].path / "request.json").read_text())
    assert set(trial["hyperparameters"]) == set(RATES) and trial["total_timesteps"] == 100
    index = RunIndex(lab.root)
    wait_until(lambda: (4, 4) in [(row.trials, row.total_trials) for row in index.changes(0)[1]])
    sweep.resume(trials=1).wait(60)
    assert len(sweep.records) == 5 and started_once(lab, sweep)
    wait_until(lambda: (5, 5) in [(row.trials, row.total_trials) for row in index.changes(0)[1]])
    assert "5 of 5 trials" in repr(lab.runs) and len(sweep.trial_runs) == 10
    history = sweep.status.history
    assert sweep.resume().status.history == history, "no trial remains"
    sweep.remove(trials=True)
    assert list(lab.runs) == []


def test_everything_that_is_wrong_is_said_at_once_and_nothing_starts(lab: mosaic.Lab) -> None:
    with pytest.raises(mosaic.ConfigurationError) as refused:
        lab.sweep(
            "toy", search={"learning_rat": [1]}, trials=0, seeds=[1, 1], sampler="best", mode="up",
            films="last", total_timesteps=10, gpus=99, **WALK,
        )  # fmt: skip
    for part in (
        "7 problems",
        "gpus=99",
        "films: a sweep makes no films",
        "trials=0: must be an integer from 1 to 10,000",
        "has duplicates: 1",
        "sampler='best': must be one of tpe",
        "mode='up'",
        "no such hyperparameter; did you mean 'learning_rate'?",
    ):
        assert part in str(refused.value)
    for search, reason in (
        ([0, 0.5, 20.0], "0.0 is not above 0; 20.0 is more than 10"),
        (mosaic.search.uniform(-1, 20), "-1.0 is not above 0; 20.0 is more than 10"),
    ):
        with pytest.raises(mosaic.ConfigurationError) as refused:
            lab.sweep("toy", search={"learning_rate": search}, trials=0, total_timesteps=10, **WALK)
        assert f"search['learning_rate']: {reason}" in str(refused.value)
        assert "trials=0: must be an integer from 1 to 10,000" in str(refused.value)
    with pytest.raises(mosaic.ConfigurationError) as refused:  # found by the worker and by lab.sweep
        lab.sweep("toy", search=RATES, mode="up", wings=2, trails=2, **{**WALK, "metric": "episode_retrun"})
    for part in (
        "5 problems",
        "mode='up'",
        "total_timesteps: give",
        "unknown hyperparameter 'wings'",
        "lab.sweep has no trails=; did you mean 'trials'?",
        "metric='episode_retrun': did you mean 'episode_return'?",
    ):
        assert part in str(refused.value)
    with pytest.raises(mosaic.ConfigurationError, match="one value for all trials, or a search"):
        lab.sweep("toy", search=RATES, learning_rate=1.0, total_timesteps=10, **WALK)
    assert list(lab.runs) == []


def test_a_metric_that_no_run_reports_ends_the_sweep_at_the_first_trial(lab: mosaic.Lab) -> None:
    about = {**WALK, "metric": "heihgt"}
    sweep = lab.sweep("toy", search=RATES, trials=50, parallel=2, total_timesteps=5, **about)
    said = r"trial \d was trained, but run .* never reported the metric 'heihgt'; did you mean 'height'\?"
    with pytest.raises(mosaic.RunFailed, match=said):
        sweep.wait(120)
    assert len(sweep.records) < 25 and not any(run.alive for run in sweep.trial_runs)
    panel = SweepPanel(sweep.folder)
    assert panel.settle()
    assert "did you mean &#x27;height&#x27;?" in panel.static_caption().tables, "the saved notebook says why"
    panel.close()


def test_a_file_says_what_a_call_does(lab: mosaic.Lab, tmp_path: Path, capsys: Any) -> None:
    from mosaic_lab.cli import main

    file = tmp_path / "walks.toml"
    file.write_text(
        'worker = "toy"\nalgorithm = "walk"\nenv = "Hill-v0"\nmetric = "height"\ntotal_timesteps = 60\n'
        "trials = 3\n[search]\nlearning_rate = { low = 0.1, high = 1.0, log = true }\n"
    )
    written = [tmp_path / "trials.csv", tmp_path / "trials.parquet"]
    files = ["--csv", str(written[0]), "--parquet", str(written[1])]
    with pytest.raises(SystemExit):
        main(["sweep", str(file), "--store", str(lab.root), "--detach", *files])
    assert "leave out --detach" in capsys.readouterr().err
    assert main(["sweep", str(file), "--store", str(lab.root), *files]) == 0
    said = capsys.readouterr().out
    assert "completed, 3 of 3 trials, best height" in said
    [sweep] = [run for run in lab.runs if run.worker == "sweep"]
    best = lab.run(sweep.id).best
    assert best is not None and str(best.parameters["learning_rate"]) in said
    assert said.splitlines()[-2:] == list(map(str, written))
    for read in (pd.read_csv(written[0]), pd.read_parquet(written[1])):
        assert read["value"].max() == best.value and list(read["trial"]) == [0, 1, 2]
        assert read["runs"][best.number] == best.runs[1]
    assert main(["runs", "show", sweep.id, "--store", str(lab.root)]) == 0
    assert "parameters.learning_rate" in capsys.readouterr().out, "the trials are listed"
    assert main(["sweep", "--resume", sweep.id, "--trials", "1", "--store", str(lab.root)]) == 0
    assert "completed, 4 of 4 trials" in capsys.readouterr().out
    file.write_text(file.read_text() + "height = { low = 2, hihg = 3 }\ndepth = { high = 3 }\n")
    assert main(["sweep", str(file), "--store", str(lab.root)]) == 1
    assert "walks.toml has 3 problems" in (refused := capsys.readouterr().err)
    assert "search.height has no 'hihg'; did you mean 'high'?" in refused
    assert "search.depth has no 'low': give both" in refused
