"""Time and memory for a store of 10,000 finished runs: `Lab()` and `lab.runs` in a new kernel, and the
panel's rows in a new reader process of the server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import judged, print_table, size
from many_runs import write_runs

RUNS, ROUNDS = size((10_000, 3), (20, 1))

MEASURED = """
import contextlib, json, sys, time

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

def took(action):
    began = time.perf_counter(), time.process_time()
    result = action()
    return result, (time.perf_counter() - began[0], time.process_time() - began[1])

root, measured = sys.argv[1], {}
"""
KERNEL = """
import mosaic_lab
before = memory()
with contextlib.redirect_stdout(None):
    lab, measured["Lab()"] = took(lambda: mosaic_lab.Lab(root))
runs, measured["lab.runs"] = took(lambda: lab.runs)
_, measured["lab.runs as text"] = took(lambda: repr(runs))
"""
READER = """
from mosaic_lab.overview.service import Service
before, service = memory(), Service(root)
(first, _), measured["newest rows of the panel"] = took(lambda: service.answer("changes", {}))
known = {"version": first["version"]}
(others, _), measured["its other rows"] = took(lambda: service.answer("changes", known))
runs = {row["id"] for row in first["rows"] + others["rows"]}
"""
PRINT = """
print(json.dumps({"runs": len(runs), "seconds": measured, "megabytes": memory() - before}))
"""


@pytest.mark.timeout(1800)
def test_a_store_of_many_runs(tmp_path: Path) -> None:
    write_runs(tmp_path, RUNS, points=2)
    rows = []
    for process, code in (("the kernel", KERNEL), ("the page's reader", READER)):
        if code is READER:
            for name, (seconds, cpu) in _measured(code, tmp_path)["seconds"].items():
                rows.append([f"{name}, for the first time", f"{seconds:.2f} s", f"{cpu:.2f} s", "", ""])
        rounds = [_measured(code, tmp_path) for _ in range(ROUNDS)]
        assert {measured["runs"] for measured in rounds} == {RUNS}
        for name in rounds[0]["seconds"]:
            seconds, cpu = (median(measured["seconds"][name][kind] for measured in rounds) for kind in (0, 1))
            rows.append([name, f"{seconds:.2f} s", f"{cpu:.2f} s", *judged(seconds, "<= 1 s")])
        megabytes = median(measured["megabytes"] for measured in rounds)
        rows.append(
            [f"memory of {process} for them", f"{megabytes:.0f} MB", "", *judged(megabytes, "<= 150 MB")]
        )
    print_table(
        f"A store of {RUNS:,} ended runs, median of {ROUNDS} new processes",
        ["what", "taken", "CPU", "target", "verdict"],
        rows,
    )


def _measured(code: str, root: Path) -> dict[str, dict[str, list[float]]]:
    command = [sys.executable, "-c", MEASURED + code + PRINT, str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    measured: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return measured
