"""What it costs to step environments that another process serves, where the worker could make them itself."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.measuring import judged, paired, print_table, ratio_row, size
from shim_kit.training_worker import TrainingWorker

from mosaic_lab.workers import ensure

HERE = Path(__file__).parent
PAIRS = size(5, 1)
SMALL = {"ppo": {"env_id": "CartPole-v1", "num_envs": 4, "total_timesteps": size(40_960, 8_192)}}
ONE_UPDATE = {"n_steps": 16, "n_epochs": 1, "total_timesteps": 64}
SMALL_PICTURES = ["grey", {"resize": [32, 32]}, "flat"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch has one thread, as in a run; several would compete with the processes of environments."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_an_empty_environment() -> None:
    done = subprocess.run(
        [str(ensure("sb3", print).python), str(HERE / "empty_environment.py")],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    one, of_16, megabytes = json.loads(done.stdout)
    print_table(
        "an environment whose step does nothing",
        ["", "measured", "target", "verdict"],
        [
            ["round trip, one environment", f"{one:.1f} µs", *judged(one, "<= 25 µs")],
            ["round trip, each of 16 in one process", f"{of_16:.1f} µs", *judged(of_16, "<= 4 µs")],
            ["server's memory beside it", f"{megabytes:.0f} MB", *judged(megabytes, "<= 60 MB")],
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


@pytest.fixture
def worker(tmp_path: Path) -> TrainingWorker:
    python = str(ensure("sb3", print).python)
    return TrainingWorker("sb3", python, tmp_path, SMALL, {"fastlane": {"enabled": False}})


@pytest.mark.parametrize(
    ("env_id", "wrappers", "target"),
    [
        ("CartPole-v1", [], ">= 0.8"),
        ("LunarLander-v3", [], ">= 0.9"),
        ("MiniGrid-Empty-5x5-v0", ["flat"], ">= 0.9"),
    ],
)
def test_training_throughput(
    worker: TrainingWorker, env_id: str, wrappers: Sequence[str], target: str
) -> None:
    def speed(**config: object) -> float:
        run = worker.train(
            **{**worker.configuration("ppo"), "env_id": env_id, "wrappers": wrappers}, **config
        )
        assert run.code == 0, run.log
        return statistics.median(value for _, value in run.series("steps_per_second"))

    print_table(
        f"{env_id} with PPO of Stable-Baselines3, 4 environments, {PAIRS} pairs",
        ["", "served", "in process", "median ratio (range)", "target", "verdict"],
        [ratio_row("training, steps/s", paired(lambda: speed(**served(worker)), speed, PAIRS), target)],
    )


def test_start(worker: TrainingWorker) -> None:
    """Compare the whole times of trainings of one small update."""

    def seconds(**config: object) -> float:
        began = time.monotonic()
        run = worker.train(**{**worker.configuration("ppo"), **ONE_UPDATE}, **config)
        assert run.code == 0, run.log
        return time.monotonic() - began

    measured = paired(lambda: seconds(**served(worker)), seconds, PAIRS)
    later = statistics.median(ours - theirs for ours, theirs in measured)
    ours, theirs = (f"{statistics.median(side):.2f} s" for side in zip(*measured, strict=True))
    print_table(
        f"start and one update of CartPole with PPO of Stable-Baselines3, {PAIRS} pairs",
        ["served", "in process", "median difference", "target", "verdict"],
        [[ours, theirs, f"{later:.2f} s", *judged(later, "<= 1 s")]],
    )


def served(worker: TrainingWorker) -> dict[str, object]:
    """Return the part of a configuration by which the worker itself serves the environment."""
    return {"environment_server": {"worker": "sb3", "command": worker.command()}}
