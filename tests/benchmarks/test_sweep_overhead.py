"""The overhead of a sweep's trial: the same trainings by us, in a shell loop."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from benchmarks.measuring import paired, print_table, ratio_row, size

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.dry_run import dry_run
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training import Trainer

RATES = [round(0.0005 * number, 4) for number in range(1, size(9, 3))]
PARALLEL, PAIRS, TIMEOUT = 2, size(2, 1), 900
TRAINING = {"algorithm": "ppo", "env": "CartPole-v1", "total_timesteps": size(4_000, 1_024)}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Upstream's command; the learning rate follows."""
    folder = tmp_path_factory.mktemp("bare")
    plan = Trainer(Supervisor(folder)).plan(TrainRequest(worker="cleanrl", **TRAINING), print)
    resolved = dry_run(plan.command, plan.config, compose_variables(os.environ))
    python = workers.ensure("cleanrl").python
    return [str(python), "-m", resolved["upstream"]["script"], *resolved["arguments"], "--learning-rate"]


def test_overhead_of_a_trial(tmp_path: Path, bare: list[str]) -> None:
    variables = compose_variables(os.environ)
    lab = mosaic.Lab(tmp_path / "runs", max_running=PARALLEL)

    def ours() -> float:
        began = time.perf_counter()
        sweep = lab.sweep(
            "cleanrl",
            search={"learning_rate": RATES},
            sampler="grid",
            pruner="none",
            trials=len(RATES),
            parallel=PARALLEL,
            **TRAINING,
        )
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
