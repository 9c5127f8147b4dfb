"""Speedup of an evaluation on the three nodes of a cluster over one machine, beside the ideal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benchmarks.measuring import print_table, size
from engines.namespace import download_wheels, run_inside

from mosaic_lab.cli import main

EPISODES = size(60, 6)
"""10,000 take half an hour on two cores."""
NODES = 3


@pytest.mark.timeout(4000)
def test_episodes_on_three_nodes(tmp_path: Path, mosaic_home: Path) -> None:
    for worker in ("gymnasium", "random"):
        main(["workers", "install", worker])
    main(["clusters", "check", "ray:127.0.0.1:1"])
    tests = Path(__file__).parents[1]
    program = str(Path(__file__).with_name("cluster_episodes.py"))
    command = ["env", f"PYTHONPATH={tests}", sys.executable, program, str(EPISODES)]
    done = run_inside(command, download_wheels(tmp_path / "wheels"), 3600)
    assert done.returncode == 0, done.stdout[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    here, there = found["here"], found["cluster"]
    ideal = here["all"] / NODES
    rows = [
        (name, f"{first:.1f} s", f"{total:.1f} s", f"{EPISODES / total:.1f}", f"{here['all'] / total:.2f}")
        for name, first, total in (
            ("one arena here", here["first"], here["all"]),
            (f"{NODES} nodes, {there['parts']} parts", there["first"], there["all"]),
            (f"ideal of {NODES}", here["first"], ideal),
        )
    ]
    header = (f"{EPISODES:,} episodes", "first", "all", "episodes/s", "times as fast")
    print_table("an evaluation on a cluster", header, rows)
    assert here["fingerprint"] == there["fingerprint"]
