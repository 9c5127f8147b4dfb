"""Policies in the kernel: microseconds per call with one observation, and observations per second in batches.

CartPole's PPO with each library's default networks. The first quartile of the calls is given beside the
median, since other processes slow some calls down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.measuring import judged, print_table, size

import mosaic_lab as mosaic

CALLS = size(5_000, 20)
ROWS = size(20_000, 200)
WORKERS = size(
    {
        "cleanrl": {"num_envs": 4},
        "sb3": {"n_steps": 256},
        "tianshou": {"collection_step_num_env_steps": 500},
        "xuance": {},
        "rllib": {"num_env_runners": 0, "train_batch_size_per_learner": 500},
    },
    {"cleanrl": {"num_envs": 4}},
)
STEPS = size(3_000, 512)


def test_speed_of_policies_in_the_kernel(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    calls, arrays = [], []
    observations = np.random.default_rng(1).normal(size=(ROWS, 4)).astype(np.float32)
    for worker, hyperparameters in WORKERS.items():
        run = lab.train(
            worker, algorithm="ppo", env="CartPole-v1", seed=1, total_timesteps=STEPS, **hyperparameters
        )
        with run.wait().policy() as policy:
            for name, query in (("policy(…)", policy), ("policy.value(…)", policy.value)):
                quartile, median = np.percentile(_microseconds(query, observations[0]), [25, 50])
                calls.append([worker, name, f"{quartile:.0f}", f"{median:.0f}", *judged(median, "<= 150 µs")])
                began = time.perf_counter()
                assert len(query(observations)) == ROWS
                rate = ROWS / (time.perf_counter() - began)
                arrays.append([worker, name, f"{rate:,.0f}", *judged(rate, ">= 20,000")])
    print_table(
        f"a call with one observation, {CALLS} calls, in µs",
        ["worker", "query", "first quartile", "median", "target", "verdict"],
        calls,
    )
    print_table(
        f"observations a second, in an array of {ROWS:,}",
        ["worker", "query", "observations/s", "target", "verdict"],
        arrays,
    )


def _microseconds(query: Callable[[object], object], observation: object) -> list[float]:
    for _ in range(min(CALLS, 200)):
        query(observation)
    durations = []
    for _ in range(CALLS):
        began = time.perf_counter()
        query(observation)
        durations.append(1e6 * (time.perf_counter() - began))
    return durations
