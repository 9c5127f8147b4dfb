"""The overhead of a sweep's trial: the same trainings by us, in a shell loop."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.measuring import paired, print_table, ratio_row, size
from benchmarks.trainings import upstream_command

import mosaic_lab as mosaic
from mosaic_lab.keeper.environment_variables import compose_variables

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

    rows = [ratio_row("seconds a trial", paired(ours, in_a_loop, PAIRS), "<= 0.7")]
    title = f"{len(RATES)} trials of CleanRL's PPO, {PARALLEL} at once, {TRAINING['total_timesteps']:,} steps"
    print_table(title, ["", "ours", "shell's loop", "ratio (range)", "target", "verdict"], rows)
