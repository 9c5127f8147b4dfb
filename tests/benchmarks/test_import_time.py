"""Time that ``import mosaic_lab`` adds to a notebook's start."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measuring import paired, print_table, ratio_row, size

PAIRS = size(7, 1)
THEIRS = "import ipywidgets, bqplot"


def test_import_time() -> None:
    rows = []
    for statement in ("import mosaic_lab", "from mosaic_lab import Lab", "from mosaic_lab import Lab, show"):
        measured = paired(lambda ours=statement: _cpu(ours), lambda: _cpu(THEIRS), PAIRS)  # type: ignore[misc]
        rows.append(ratio_row(statement, measured, "<= 1.2"))
    print_table(
        f"Import time against `{THEIRS}` (CPU seconds in a fresh interpreter, {PAIRS} pairs)",
        ["statement", "ours", "theirs", "median ratio (range)", "target", "verdict"],
        rows,
    )


def _cpu(statement: str) -> float:
    script = f"import time; before = time.process_time(); {statement}; print(time.process_time() - before)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return float(done.stdout)
