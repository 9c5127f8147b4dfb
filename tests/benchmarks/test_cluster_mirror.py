"""Cost and latency of mirroring runs on a cluster, beside a run on this machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from benchmarks.measuring import judged, print_table
from engines.namespace import download_wheels, run_inside

from mosaic_lab.cli import main

RUNS, SECONDS = int(os.environ.get("MOSAIC_BENCHMARK_RUNS", "50")), 30


def test_lines_of_many_runs_on_a_cluster(tmp_path: Path, mosaic_home: Path) -> None:
    main(["workers", "install", "script"])
    main(["clusters", "check", "ray:127.0.0.1:1"])
    tests = Path(__file__).parents[1]
    program = str(Path(__file__).with_name("cluster_runs.py"))
    command = ["env", f"PYTHONPATH={tests}", sys.executable, program, str(RUNS), str(SECONDS)]
    wheels = tmp_path / "wheels"
    done = run_inside(command, download_wheels(wheels), 1500)
    assert done.returncode == 0, done.stdout[-3000:]
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    local, remote = np.array(figures["local"]) * 1000, np.array(figures["remote"]) * 1000
    header = ("", f"{RUNS} runs on a cluster", "a run here", "ratio", "target", "")
    rows = []
    for name, share in (("median", 50), ("95th percentile", 95)):
        there, here = np.percentile(remote, share), np.percentile(local, share)
        verdict = judged(there / 1000, "<= 0.25 s") if share == 50 else ["", ""]
        cells = [f"{there:.0f} ms", f"{here:.0f} ms", f"{there / here:.1f}"]
        rows.append([f"line to chart data, {name}", *cells, *verdict])
    bridge, reading = figures["bridge"], figures["actors"]
    rows.append(["the bridge's share of a core", f"{bridge:.1%}", "-", "-", *judged(bridge, "<= 0.15")])
    rows.append(["the nodes' reading, shares of a core", f"{reading:.1%}", "-", "-", "", ""])
    print_table("the mirror of runs on a cluster", header, rows)
    assert len(remote) > RUNS * SECONDS
