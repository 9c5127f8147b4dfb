"""Cost of frames for a training: steps per second of CleanRL's PPO on CartPole with frames off, on without a
viewer, and watched by another process at 30 frames/s.

Each round has one run of each, in rotating order; ratios are taken within a round. The speed is read from the
files that the script writes, so start-up does not count. The worker's environment is installed first if it is
missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.measuring import print_table, ratio_row, size
from benchmarks.trainings import steps_per_second

from mosaic_lab import Lab
from mosaic_lab.runs import Run
from mosaic_lab.workers import ensure

STEPS = size(100_000, 10_000)
ROUNDS = size(5, 1)
FPS = 30.0
TIMEOUT = 1200

WATCH = """
import json, sys, time
from mosaic_contract.fastlane import FrameReader
reader, fps, times = FrameReader(sys.argv[1]), float(sys.argv[2]), []
deadline = time.monotonic() + float(sys.argv[3])
was_open = False
while time.monotonic() < deadline and not (was_open and reader.state != "open"):
    reader.watch(fps)
    was_open = was_open or reader.state == "open"
    if reader.read() is not None:
        times.append(time.monotonic())
    time.sleep(0.005)
print(json.dumps(times))
"""


def test_frames_and_training_throughput(tmp_path: Path) -> None:
    environment = ensure("cleanrl", print)
    lab = Lab(tmp_path / "runs")
    rates: list[float] = []

    def train(frames: bool, watched: bool = False) -> tuple[float, float]:
        run = lab.train(
            "cleanrl", algorithm="ppo", env="CartPole-v1", seed=1, total_timesteps=STEPS, frames=frames
        )
        assert isinstance(run, Run)
        if watched:
            rates.append(_watch(run.path))
        outcome = run.wait(TIMEOUT).outcome
        assert outcome is not None and outcome.cpu_seconds is not None
        return steps_per_second(environment, run.path / "tensorboard"), outcome.cpu_seconds

    kinds = {
        "off": lambda: train(False),
        "on": lambda: train(True),
        "watched": lambda: train(True, watched=True),
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for index in range(ROUNDS):
        names = list(kinds)
        for name in names[index % 3 :] + names[: index % 3]:
            measured[name].append(kinds[name]())

    def against_off(name: str, which: int) -> list[tuple[float, float]]:
        return [(a[which], b[which]) for a, b in zip(measured[name], measured["off"], strict=True)]

    print_table(
        f"CleanRL PPO on CartPole-v1, {STEPS:,} steps, {ROUNDS} rounds ({environment.source})",
        ["frames", "with", "off", "median ratio (range)", "target", "verdict"],
        [
            ratio_row("on, no viewer: steps/s", against_off("on", 0), ">= 0.99"),
            ratio_row(f"watched at {FPS:g} frames/s: steps/s", against_off("watched", 0), ">= 0.95"),
            ratio_row("on, no viewer: whole run, CPU seconds", against_off("on", 1), ""),
            ratio_row("watched: whole run, CPU seconds", against_off("watched", 1), ""),
        ],
    )
    print(f"  frames seen per second: {median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f})")
    assert min(rates) > 1


def _watch(folder: Path) -> float:
    """Watch a run to its end from another process; return the frames per second that it saw."""
    command = [sys.executable, "-c", WATCH, str(folder), str(FPS), str(TIMEOUT)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT + 60)
    times = json.loads(done.stdout)
    return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
