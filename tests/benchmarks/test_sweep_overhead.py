"""Overhead of a sweep's trial: the same trainings in a sweep, in a plain loop, and by Optuna with joblib."""

from __future__ import annotations

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import peer_packages
from benchmarks.measuring import paired, print_table, ratio_row, size
from benchmarks.trainings import upstream_command

import mosaic_lab as mosaic
from mosaic_lab.keeper.environment_variables import compose_variables

OPTUNA_WITH_JOBLIB = """
import json, subprocess, sys
import joblib, optuna
command, rates, parallel = json.loads(sys.argv[1])
study = optuna.create_study(sampler=optuna.samplers.GridSampler({"rate": rates}))
def objective(trial):
    rate = trial.suggest_categorical("rate", rates)
    subprocess.run([*command, str(rate)], capture_output=True, check=True)
    return rate
optimize = joblib.delayed(study.optimize)
joblib.Parallel(parallel, "threading")(optimize(objective, n_trials=1) for _ in rates)
"""
RATES = [round(0.0005 * number, 4) for number in range(1, size(9, 3))]
PARALLEL, PAIRS, TIMEOUT = 2, size(2, 1), 900
TRAINING = {"algorithm": "ppo", "env": "CartPole-v1", "total_timesteps": size(4_000, 1_024)}


def test_overhead_of_a_trial(tmp_path: Path) -> None:
    bare = [*upstream_command(TRAINING), "--learning-rate"]
    variables = compose_variables(os.environ)
    lab = mosaic.Lab(tmp_path / "runs", max_running=PARALLEL)

    def ours() -> float:
        began = time.perf_counter()
        grid = {"search": {"learning_rate": RATES}, "sampler": "grid", "trials": len(RATES)}
        sweep = lab.sweep("cleanrl", **grid, pruner="none", parallel=PARALLEL, **TRAINING)
        sweep.wait(TIMEOUT)
        assert [trial.state for trial in sweep.records] == ["completed"] * len(RATES)
        return (time.perf_counter() - began) / len(RATES)

    def in_a_loop() -> float:
        def one(rate: float) -> None:
            command = [*bare, str(rate)]
            subprocess.run(
                command, cwd=tmp_path, env=variables, capture_output=True, check=True, timeout=TIMEOUT
            )

        began = time.perf_counter()
        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(one, RATES))
        return (time.perf_counter() - began) / len(RATES)

    programs = peer_packages.install(tmp_path / "peers", "optuna", "joblib")

    def by_optuna() -> float:
        arguments = json.dumps([bare, RATES, PARALLEL])
        command = [str(programs / "python"), "-c", OPTUNA_WITH_JOBLIB, arguments]
        began = time.perf_counter()
        subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=True, timeout=TIMEOUT)
        return (time.perf_counter() - began) / len(RATES)

    rows = [
        ratio_row("shell's loop", paired(ours, in_a_loop, PAIRS), "<= 0.7"),
        ratio_row(
            f"{peer_packages.version(programs, 'optuna')} with {peer_packages.version(programs, 'joblib')}",
            paired(ours, by_optuna, PAIRS),
            "<= 0.7",
        ),
    ]
    title = f"{len(RATES)} trials of CleanRL's PPO, {PARALLEL} at once, {TRAINING['total_timesteps']:,} steps"
    print_table(
        title, ["against", "ours, s a trial", "theirs, s", "ratio (range)", "target", "verdict"], rows
    )
