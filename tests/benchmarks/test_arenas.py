"""Cost of arenas and operator processes: microseconds per operator call on CartPole with random operators,
in excess of the same loop in one process; and the speed of eight lanes relative to one.

The first table times each step from the previous step of its episode, so resets do not count; the second
includes everything. Compared variants run in turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.measuring import judged, paired, print_table, ratio_row, size

from mosaic_lab import operators
from mosaic_lab.arenas import CompareRequest, Comparison, Lane, compare
from mosaic_lab.workers import ensure

ROUNDS = size(7, 1)
EPISODES = size(100, 3)
ENV = "CartPole-v1"

ONE_PROCESS = """
import json, sys, time
import gymnasium
env = gymnasium.make("CartPole-v1")
env.action_space.seed(1)
seconds = []
for seed in range(int(sys.argv[1])):
    env.reset(seed=seed)
    ended, before = False, time.perf_counter()
    while not ended:
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        now = time.perf_counter()
        seconds.append(now - before)
        ended, before = terminated or truncated, now
print(json.dumps(seconds))
"""


def test_cost_of_an_operator_call(tmp_path: Path) -> None:
    python = ensure("gymnasium").python
    one, two = (_start(tmp_path / str(count), count) for count in (1, 2))
    measured: dict[str, list[float]] = {name: [] for name in ("bare", "one", "two")}
    for _ in range(ROUNDS):
        answer = subprocess.run(
            [str(python), "-c", ONE_PROCESS, str(EPISODES)], check=True, capture_output=True, timeout=300
        )
        measured["bare"].append(1e6 * median(json.loads(answer.stdout)))
        for name, comparison in (("one", one), ("two", two)):
            first = comparison.lanes[0].progress.episode + 1
            _play(comparison)
            measured[name].append(1e6 * median(_step_seconds(comparison.lanes[0], first)))
    rows = []
    for name, what, calls in (("one", "one lane", 1), ("two", "two lanes, random against random", 2)):
        # With two lanes in lockstep, one step of all lanes contains two calls.
        over = sorted(a / calls - b for a, b in zip(measured[name], measured["bare"], strict=True))
        spread = f"{median(over):.0f} ({over[0]:.0f} to {over[-1]:.0f})"
        rows.append(
            [
                what,
                f"{median(measured[name]):.0f}",
                f"{median(measured['bare']):.1f}",
                spread,
                *judged(median(over), "<= 150 µs"),
            ]
        )
    print_table(
        f"{ENV}, random operators, {ROUNDS} rounds of {EPISODES} episodes: medians, in µs",
        [
            "through arena and operator processes",
            "step of all",
            "in one process",
            "over it, per call",
            "target",
            "verdict",
        ],
        rows,
    )
    for comparison in (one, two):
        comparison.stop()


def test_eight_lanes_against_one(tmp_path: Path) -> None:
    one, eight = (_start(tmp_path / str(count), count) for count in (1, 8))
    for comparison in (one, eight):
        _play(comparison)  # warms up
    measured = paired(lambda: _play(eight), lambda: _play(one), ROUNDS)
    print_table(
        f"{ENV}, random operators, {ROUNDS} pairs of {EPISODES} episodes, on {os.cpu_count()} cores",
        [
            "steps of all lanes together, a second",
            "8 lanes",
            "1 lane",
            "median ratio (range)",
            "target",
            "verdict",
        ],
        [ratio_row("at full speed, resets included", measured, ">= 1.5")],
    )
    for comparison in (one, eight):
        comparison.stop()


def _start(root: Path, lanes: int) -> Comparison:
    random = {f"random {number}": operators.random() for number in range(lanes)}
    return compare(root, CompareRequest(env=ENV, operators=random, seeds=list(range(EPISODES))))


def _play(comparison: Comparison) -> float:
    """Play one episode on each seed in all lanes; return the steps per second of all lanes together."""
    steps, began = 0, time.perf_counter()
    for seed in comparison.seeds:
        comparison.reset(seed)
        comparison.play()
        comparison.wait(60)
        steps += sum(lane.step for lane in comparison.lanes)
    return steps / (time.perf_counter() - began)


def _step_seconds(lane: Lane, first: int) -> Sequence[float]:
    """Return the seconds between steps of the lane's episodes from ``first`` on, from its telemetry."""
    assert lane.folder is not None
    seconds, before = [], (-1, 0)
    for line in (lane.folder / "telemetry.jsonl").read_bytes().splitlines():
        message = json.loads(line)
        if message.get("type") == "step" and message["episode_index"] >= first:
            episode, stamp = message["episode_index"], message["ts_unix_ns"]
            if episode == before[0]:
                seconds.append((stamp - before[1]) / 1e9)
            before = episode, stamp
    return seconds
