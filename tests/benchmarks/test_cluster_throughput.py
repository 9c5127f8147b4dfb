"""A training on a cluster against the same by upstream alone on the same node: steps per second."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks.measuring import print_table, ratio_row
from benchmarks.trainings import TRAININGS
from engines.namespace import download_wheels, run_inside

from mosaic_lab.cli import main

PAIRS = int(os.environ.get("MOSAIC_BENCHMARK_PAIRS", "5"))
STEPS = int(os.environ.get("MOSAIC_BENCHMARK_STEPS", "50000"))


def test_throughput_on_a_cluster(tmp_path: Path, mosaic_home: Path) -> None:
    main(["workers", "install", TRAININGS[0].worker])
    main(["clusters", "check", "ray:127.0.0.1:1"])
    tests = Path(__file__).parents[1]
    program = str(Path(__file__).with_name("cluster_trainings.py"))
    command = ["env", f"PYTHONPATH={tests}", sys.executable, program, str(PAIRS), str(STEPS)]
    done = run_inside(command, download_wheels(tmp_path / "wheels"), 3600)
    assert done.returncode == 0, done.stdout[-3000:]
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    print_table(
        f"{figures['name']}, {STEPS:,} steps, {PAIRS} pairs",
        ["", "on a cluster", "bare", "median ratio (range)", "target", "verdict"],
        [ratio_row("training, steps/s", figures["pairs"], ">= 0.98")],
    )
