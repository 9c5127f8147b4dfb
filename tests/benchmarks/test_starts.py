"""Time of a training to its first metric and to its end: cold, warm, and upstream's script alone."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import judged, print_table, size
from benchmarks.trainings import upstream_command
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.warm_workers import WARM_WORKERS

ROUNDS, STEPS = size(3, 1), size(3_000, 1_024)
TRAINING = {"algorithm": "ppo", "env": "CartPole-v1", "total_timesteps": STEPS}
EPISODE = "global_step="  # printed by the script at the end of each episode

Seconds = tuple[float, float]
"""Seconds to the first metric and to the end."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Seconds]:
    """A function that trains with upstream's script."""
    folder, command = tmp_path_factory.mktemp("bare"), upstream_command(TRAINING)
    variables = compose_variables(os.environ)

    def train() -> Seconds:
        began, first = time.perf_counter(), 0.0
        with subprocess.Popen(
            command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as script:
            assert script.stdout is not None
            for line in script.stdout:
                if not first and EPISODE in line:
                    first = time.perf_counter() - began
        assert script.returncode == 0 and first
        return first, time.perf_counter() - began

    return train


def test_seconds_to_the_first_metric_and_of_a_whole_training(
    tmp_path: Path, bare: Callable[[], Seconds]
) -> None:
    command = workers.ensure("cleanrl").command()

    def ours(warm: bool) -> Seconds:
        if warm:
            WARM_WORKERS.prepare(command, compose_variables(os.environ))
            wait_until(lambda: WARM_WORKERS.find(command, compose_variables(os.environ)), 120)
        began = time.time()
        run = mosaic.Lab(tmp_path, warm=warm).train("cleanrl", seed=1, **TRAINING)
        run.wait()
        ended = time.time()
        return float(run.episodes()["timestamp"].iloc[0]) - began, ended - began

    kinds = {"script": bare, "cold": partial(ours, False), "warm": partial(ours, True)}
    measured = [{name: train() for name, train in kinds.items()} for _ in range(ROUNDS)]
    WARM_WORKERS.close()
    rows = []
    for part, name in enumerate(("first metric", "whole training")):
        for kind, target in (("cold", ("<= 1.1", "<= 1.08")), ("warm", ("<= 0.4", "<= 0.6"))):
            seconds = [(one[kind][part], one["script"][part]) for one in measured]
            ratio = median(ours / theirs for ours, theirs in seconds)
            medians = [f"{median(side):.2f}" for side in zip(*seconds, strict=True)]
            rows.append([f"{name}, {kind}", *medians, f"{ratio:.2f}", *judged(ratio, target[part])])
    title = f"Seconds of CleanRL's PPO on CartPole, {STEPS:,} steps"
    print_table(title, ["", "ours", "script", "ratio", "target", "verdict"], rows)
