"""Trainings under us against the same by upstream alone: steps per second, and CPU seconds of the whole run.

One algorithm of each family that a library has: on-policy, off-policy, from a dataset, of teams. Both sides
have the same hyperparameters, seed, threads and variables. A worker's environment is installed first if it is
missing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measuring import paired, print_table, ratio_row, size
from benchmarks.trainings import TIMEOUT, TRAININGS, Training

from mosaic_lab import Lab
from mosaic_lab.runs import Run
from mosaic_lab.workers import WorkerEnvironment, ensure

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
    resolved = resolved_by(environment, training, steps, hyperparameters, tmp_path)
    our_cpu: list[float] = []
    bare_cpu: list[float] = []

    def ours() -> float:
        run = lab.train(
            training.worker,
            algorithm=training.algorithm,
            env=training.env_id,
            seed=SEED,
            total_timesteps=steps,
            **hyperparameters,
        )
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
    """What an offline algorithm learns from, the last steps of a DQN; and nothing is evaluated in between."""
    run = lab.train(
        training.worker,
        algorithm="dqn",
        env=training.env_id,
        seed=SEED,
        total_timesteps=5_000,
        save_buffer=True,
    )
    assert isinstance(run, Run)
    run.wait(TIMEOUT)
    return {"dataset": str(run.path / "dataset.hdf5"), "epoch_num_steps": steps}


def resolved_by(
    environment: WorkerEnvironment,
    training: Training,
    steps: int,
    hyperparameters: Mapping[str, Any],
    folder: Path,
) -> dict[str, Any]:
    """The configuration resolved by the worker's dry run."""
    file = folder / "config.json"
    config = {
        "algorithm": training.algorithm,
        "env_id": training.env_id,
        "seed": SEED,
        "total_timesteps": steps,
        "hyperparameters": dict(hyperparameters),
        "run_id": "dry",
        "run_dir": str(folder),
    }
    file.write_text(json.dumps(config))
    command = [*environment.command(), "--config", str(file), "--dry-run"]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=120)
    resolved: dict[str, Any] = json.loads(answer.stdout)
    return resolved
