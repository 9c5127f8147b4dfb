"""Trainings in MOSAIC Lab compared with upstream alone: steps per second, and CPU seconds of the run.

One algorithm of each kind that a library has: on-policy, off-policy, offline, multi-agent. Both sides have
the same hyperparameters, seed, threads and environment variables. A worker's environment is installed first
if it is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measuring import paired, print_table, ratio_row, size
from benchmarks.trainings import TIMEOUT, TRAININGS, Training

from mosaic_lab import Lab
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs import Run
from mosaic_lab.runs.dry_run import dry_run
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.workers import ensure

SEED = 1
PAIRS = size(5, 1)


@pytest.mark.parametrize("training", TRAININGS, ids=lambda training: training.name)
def test_training_throughput(training: Training, tmp_path: Path) -> None:
    environment = ensure(training.worker, print)
    lab = Lab(tmp_path / "runs")
    steps = size(training.steps, training.steps // 2)
    hyperparameters = dict(training.hyperparameters)
    if training.offline:
        hyperparameters |= _dataset(lab, training, steps)
    given = {"algorithm": training.algorithm, "env": training.env_id, "seed": SEED, "total_timesteps": steps}
    request = TrainRequest(worker=training.worker, **given, hyperparameters=hyperparameters)
    resolved = dry_run(environment.command(), request.config(), compose_variables(os.environ))
    our_cpu: list[float] = []
    bare_cpu: list[float] = []

    def ours() -> float:
        run = lab.train(training.worker, **given, **hyperparameters)
        assert isinstance(run, Run)
        outcome = run.wait(TIMEOUT).outcome
        assert outcome is not None and outcome.cpu_seconds is not None
        assert run.state == "completed", run.reason
        our_cpu.append(outcome.cpu_seconds)
        return training.speed(environment, run)

    def bare() -> float:
        folder = tmp_path / f"bare{len(bare_cpu)}"
        folder.mkdir()
        speed, cpu = training.bare(environment, resolved, folder)
        bare_cpu.append(cpu)
        return speed

    measured = paired(ours, bare, PAIRS)
    seconds = list(zip(our_cpu, bare_cpu, strict=True))
    source = f" ({environment.source})" if environment.source else ""
    print_table(
        f"{training.name}, {steps:,} steps, {PAIRS} pairs{source}",
        ["", "ours", "bare", "median ratio (range)", "target", "verdict"],
        [
            ratio_row("training, steps/s", measured, ">= 0.97"),
            ratio_row("whole run, CPU seconds", seconds, ""),
        ],
    )


def _dataset(lab: Lab, training: Training, steps: int) -> dict[str, Any]:
    """Return settings for an offline algorithm: a DQN's last steps as dataset, no evaluations in between."""
    given = {"env": training.env_id, "seed": SEED, "total_timesteps": 5_000, "save_buffer": True}
    run = lab.train(training.worker, algorithm="dqn", **given)
    assert isinstance(run, Run)
    run.wait(TIMEOUT)
    return {"dataset": str(run.path / "dataset.hdf5"), "epoch_num_steps": steps}
