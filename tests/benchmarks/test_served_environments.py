"""Cost of stepping environments that another process serves, relative to the training's own process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measuring import figure_row, judged, paired, print_table, ratio_row, size
from shim_kit.training_worker import Finished, TrainingWorker

from mosaic_lab.workers import ensure

HERE = Path(__file__).parent
PAIRS, ROUNDS = size(5, 1), size(3, 1)
SMALL = {
    "ppo": {"env_id": "CartPole-v1", "num_envs": 4, "n_steps": 512, "total_timesteps": size(12_288, 4_096)}
}
ONE_UPDATE = {"n_steps": 16, "n_epochs": 1, "total_timesteps": 64}
WITHOUT_FRAMES = {"fastlane": {"enabled": False}}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give PyTorch one thread, as in a run; more threads would compete with the environments' processes."""
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
            figure_row("round trip, one environment", one, "<= 25 µs", "{:.1f} µs"),
            figure_row("round trip, each of 16 in one process", of_16, "<= 4 µs", "{:.1f} µs"),
            figure_row("server's memory beside it", megabytes, "<= 60 MB", "{:.0f} MB"),
        ],
    )


SLOW = {"num_envs": 4, "n_steps": 64, "n_epochs": 1, "net_arch": [4]}
SMALL_PICTURES = ["grey", {"resize": [32, 32]}, "flat"]
PICTURES = {**SLOW, "wrappers": SMALL_PICTURES, "total_timesteps": size(2_048, 512)}
FAMILIES: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    # id: training library, algorithm, the environment's worker, configuration, target with two processes
    "VizdoomBasic-v1": (
        *("sb3", "ppo", "visual"),
        {**PICTURES, "wrappers": ["image", *SMALL_PICTURES]},
        ">= 1.3",
    ),
    "CrafterReward-v1": ("sb3", "ppo", "visual", PICTURES, ">= 1.3"),
    "NetHackScore-v0": ("sb3", "ppo", "nethack", {**PICTURES, "wrappers": ["flat"]}, ""),
    "MosaicMultiGrid-S-2v2-IndAgObs-v1": (
        *("xuance", "mappo", "multigrid"),
        {"parallels": 4, "buffer_size": 200, "wrappers": ["flat"], "total_timesteps": size(4_000, 800)},
        "",
    ),
}


@pytest.mark.parametrize("env_id", FAMILIES)
def test_a_family_installed_by_hand(env_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare an environment in one and two server processes with one in the training's own process."""
    library, algorithm, family, config, target = FAMILIES[env_id]
    environment = ensure(family, print)
    packages = next(environment.python.parents[1].glob("lib/python*/site-packages"))
    monkeypatch.setenv("HAND_INSTALLED", os.pathsep.join([family, str(packages), env_id]))
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.chdir(tmp_path)  # ViZDoom writes its settings there
    training = TrainingWorker(
        library, str(ensure(library, print).python), tmp_path, {algorithm: config}, WITHOUT_FRAMES
    )
    server = {"worker": family, "command": environment.command()}

    def speed(processes: int) -> float:
        where: dict[str, Any] = {"env_id": "hand_installed:make"}
        if processes:
            where = {"env_id": env_id, "environment_server": {**server, "processes": processes}}
        return steps_per_second(training.train(**training.configuration(algorithm), **where))

    speeds: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for number in range(ROUNDS):
        for processes in sorted(speeds, reverse=bool(number % 2)):
            speeds[processes].append(speed(processes))
    by_hand, one, two = speeds.values()
    print_table(
        f"{env_id} with {algorithm} of {library}, 4 environments, steps/s of {ROUNDS} rounds",
        ["", "this", "the other", "median ratio (range)", "target", "verdict"],
        [
            ratio_row("served by one process / in process", list(zip(one, by_hand, strict=True)), ">= 0.97"),
            ratio_row("served by two processes / one", list(zip(two, one, strict=True)), target),
        ],
    )


@pytest.fixture
def worker(tmp_path: Path) -> TrainingWorker:
    python = str(ensure("sb3", print).python)
    return TrainingWorker("sb3", python, tmp_path, SMALL, WITHOUT_FRAMES)


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
        return steps_per_second(
            worker.train(**{**worker.configuration("ppo"), "env_id": env_id, "wrappers": wrappers}, **config)
        )

    print_table(
        f"{env_id} with PPO of Stable-Baselines3, 4 environments, {PAIRS} pairs",
        ["", "served", "in process", "median ratio (range)", "target", "verdict"],
        [ratio_row("training, steps/s", paired(lambda: speed(**served(worker)), speed, PAIRS), target)],
    )


def test_start(worker: TrainingWorker) -> None:
    """Compare the total times of trainings with one small update."""

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
    """Return the part of a configuration that makes the worker itself serve the environment."""
    return {"environment_server": {"worker": "sb3", "command": worker.command()}}


def steps_per_second(run: Finished) -> float:
    """Return the speed of a training between its first and its last metrics."""
    assert run.code == 0, run.log
    logged = [
        (message["timestamp"], message["payload"]["step"])
        for message in run.messages
        if message.get("event") == "metrics"
    ]
    (began, first), (ended, last) = logged[0], logged[-1]
    return float((last - first) / (ended - began))
