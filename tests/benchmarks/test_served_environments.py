"""What it costs to step environments that another process serves, where the worker could make them itself."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from pathlib import Path

import pytest
from benchmarks.measuring import judged, paired, print_table, ratio_row, size
from shim_kit.training_worker import TrainingWorker

from mosaic_lab.workers import ensure

HERE = Path(__file__).parent
PAIRS = size(5, 1)
SMALL = {"ppo": {"env_id": "CartPole-v1", "num_envs": 4, "total_timesteps": size(40_960, 8_192)}}
SMALL_PICTURES = ["grey", {"resize": [32, 32]}, "flat"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch has one thread, as in a run; several would compete with the processes of environments."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_round_trip_of_an_empty_step() -> None:
    done = subprocess.run(
        [str(ensure("sb3", print).python), str(HERE / "empty_environment.py")],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    one, of_16 = json.loads(done.stdout)
    print_table(
        "round trip of an empty step",
        ["", "µs", "target", "verdict"],
        [
            ["one environment", f"{one:.1f}", *judged(one, "<= 25 µs")],
            ["each of 16 in one process", f"{of_16:.1f}", *judged(of_16, "<= 4 µs")],
        ],
    )


def test_two_processes(tmp_path: Path) -> None:
    """An environment with slow steps (Crafter draws each observation), in two processes and in one."""
    settings = {"num_envs": 4, "n_steps": 256, "n_epochs": 1, "total_timesteps": size(8_192, 2_048)}
    crafter = {"env_id": "CrafterReward-v1", **settings}
    worker = TrainingWorker(
        "sb3", str(ensure("sb3", print).python), tmp_path, {"ppo": crafter}, {"fastlane": {"enabled": False}}
    )
    server = {"worker": "visual", "command": ensure("visual", print).command()}

    def speed(processes: int) -> float:
        config = {**worker.configuration("ppo"), "wrappers": SMALL_PICTURES}
        run = worker.train(**config, environment_server={**server, "processes": processes})
        assert run.code == 0, run.log
        return statistics.median(value for _, value in run.series("steps_per_second"))

    measured = paired(lambda: speed(2), lambda: speed(1), PAIRS)
    print_table(
        f"Crafter with PPO of Stable-Baselines3, 4 environments, {PAIRS} pairs",
        ["", "two processes", "one", "median ratio (range)", "target", "verdict"],
        [ratio_row("training, steps/s", measured, ">= 1.3")],
    )


def test_training_throughput(tmp_path: Path) -> None:
    worker = TrainingWorker(
        "sb3", str(ensure("sb3", print).python), tmp_path, SMALL, {"fastlane": {"enabled": False}}
    )

    def speed(**config: object) -> float:
        run = worker.train(**worker.configuration("ppo"), **config)
        assert run.code == 0, run.log
        return statistics.median(value for _, value in run.series("steps_per_second"))

    def served() -> float:
        return speed(environment_server={"worker": "sb3", "command": worker.command()})

    print_table(
        f"CartPole with PPO of Stable-Baselines3, 4 environments, {PAIRS} pairs",
        ["", "served", "in process", "median ratio (range)", "target", "verdict"],
        [ratio_row("training, steps/s", paired(served, speed, PAIRS), ">= 0.8")],
    )
