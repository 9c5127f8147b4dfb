"""Logging and reading back metrics, compared with TensorBoard, Weights & Biases (offline) and trackio."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from benchmarks import loggers, peer_packages
from benchmarks.measuring import print_table, size

PEERS = ("tensorboard", "wandb", "trackio")
ROWS = size(20_000, 200)
ROUNDS = size(3, 1)


@pytest.mark.timeout(900)
def test_loggers(tmp_path: Path) -> None:
    programs = peer_packages.install(tmp_path / "peers", *PEERS)
    measured: dict[str, list[dict[str, float | None]]] = {name: [] for name in ("mosaic", *PEERS)}
    for turn in range(ROUNDS):
        for name, results in measured.items():
            folder = tmp_path / f"{name}{turn}"
            folder.mkdir()
            python = sys.executable if name == "mosaic" else str(programs / "python")
            command = [python, loggers.__file__, name, str(ROWS), str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
            assert done.returncode == 0, done.stderr
            results.append(json.loads(done.stdout.splitlines()[-1]))
    rows = []
    for name, results in measured.items():
        start, log, written = (median(one[key] or 0 for one in results) for key in ("start", "log", "bytes"))
        reads = [one["read"] for one in results if one["read"] is not None]
        rows.append(
            [
                "ours" if name == "mosaic" else peer_packages.version(programs, name),
                f"{start:.2f}",
                f"{1e6 * log / ROWS:.1f}",
                f"{median(reads):.2f}" if reads else "needs its server",
                f"{written / ROWS:.0f}",
            ]
        )
    title = f"{ROWS:,} rows of four metrics, logged and read back, median of {ROUNDS}"
    print_table(title, ["", "start, s", "µs a row", "one metric read, s", "bytes a row"], rows)
