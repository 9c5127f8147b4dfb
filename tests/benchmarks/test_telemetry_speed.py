"""Speed of reading telemetry: lines to columns, points to tables, and the cost of polling idle runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.measuring import cpu_seconds, judged, print_table, size
from benchmarks.telemetry_files import RETURN, write_run
from overview.run_folders import run_in

from mosaic_lab.telemetry import RunFeed, metrics_table
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.widgets.page.live_panel import RefreshScheduler
from mosaic_lab.widgets.runs.following import BUSY_SECONDS, IDLE_SECONDS

LINES = size(1_000_000, 10_000)
LONG, LONGEST = size((4_000_000, 12_000_000), (1000, 3000))
SECONDS = size(10.0, 1.0)
MEASURED = """
import json, sys, time
from pathlib import Path
import pandas
from mosaic_lab.overview.service import Service
from mosaic_lab.runs import Run
path, metric, what = Path(sys.argv[1]), *sys.argv[2:]
run, service = Run(path), Service(path.parent)
began = time.perf_counter(), time.process_time()
if what == "metrics":
    assert len(run.metrics(metric))
else:
    assert service.answer("curves", {"runs": [run.id], "metric": metric})[0]["lines"]
taken = time.perf_counter() - began[0], time.process_time() - began[1]
[peak] = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([*taken, int(peak.split()[1]) / 1e3]))
"""


def test_lines_to_columns_and_points_to_tables(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", LINES)
    size = (folder / "telemetry.jsonl").stat().st_size / LINES
    cache = ColumnCache(tmp_path / "cache")

    def read(*, ended: bool) -> RunColumns:
        columns = RunColumns(folder, cache)
        while columns.read(lambda: ended):
            pass
        return columns

    columns = read(ended=False)
    assert len(metrics_table(columns)) == LINES
    feed_seconds = min(cpu_seconds(lambda: read(ended=False)) for _ in range(3))
    all_seconds = min(cpu_seconds(lambda: metrics_table(columns)) for _ in range(3))
    read(ended=True)
    again_seconds = min(cpu_seconds(lambda: metrics_table(read(ended=True), RETURN)) for _ in range(3))
    print_table(
        f"Reading {LINES:,} metrics lines, one value and {size:.0f} bytes a line (CPU time, best of 3)",
        ["what", "seconds", "lines/s", "target", "verdict"],
        [
            [name, f"{seconds:.3f}", f"{LINES / seconds:,.0f}", *verdict]
            for name, seconds, verdict in (
                ("file to chart-ready columns", feed_seconds, judged(LINES / feed_seconds, ">= 200,000")),
                ("columns to the table of all metrics", all_seconds, judged(all_seconds, "<= 1.5 s")),
                (
                    "cached columns to the table of one metric",
                    again_seconds,
                    judged(again_seconds, "<= 0.1 s"),
                ),
            )
        ],
    )


@pytest.mark.timeout(1800)
def test_an_ended_run_of_millions_of_lines(tmp_path: Path) -> None:
    run = run_in(tmp_path / "runs" / "run", [])
    variables = {**os.environ, "MOSAIC_LAB_HOME": str(tmp_path / "home")}
    rows = []

    def measure(name: str, what: str, target: str) -> None:
        command = [sys.executable, "-c", MEASURED, str(run.path), RETURN, what]
        done = subprocess.run(command, check=True, capture_output=True, env=variables, timeout=600)
        seconds, cpu, megabytes = json.loads(done.stdout)
        cells = [f"{seconds:.2f} s", f"{cpu:.2f} s", f"{megabytes:.0f} MB"]
        rows.append([name, *cells, *judged(seconds, target)])

    write_run(run.path, LONG)
    measure(f"metrics(name) of {LONG:,} lines", "metrics", "<= 4 s")
    measure("again", "metrics", "<= 0.3 s")
    write_run(run.path, LONGEST - LONG, LONG)
    measure(f"first curve of {LONGEST:,} lines, as far as they are read", "curves", "<= 2 s")
    measure("all of them read", "metrics", "")
    measure("the curve again", "curves", "<= 0.3 s")
    print_table(
        "An ended run of millions of lines, each row in a new process",
        ["what", "taken", "CPU", "most memory", "target", "verdict"],
        rows,
    )


def test_polling_idle_runs(tmp_path: Path) -> None:
    rows = []
    for runs in (0, 20):
        scheduler = RefreshScheduler()
        feeds = [RunFeed(write_run(tmp_path / f"run{index}", 1000)) for index in range(runs)]
        for feed in feeds:
            scheduler.add_poll(partial(_poll, feed))
        while any(feed.health.lines < 1000 for feed in feeds):
            time.sleep(0.01)
        time.sleep(0.5)
        began = time.monotonic()
        cpu = cpu_seconds(lambda: time.sleep(SECONDS))
        share = cpu / (time.monotonic() - began)
        scheduler.close()
        rows.append([f"{runs} idle runs", f"{share:.3%}", *judged(100 * share, "<= 1 %")])
    print_table(f"CPU of the reader over {SECONDS:g} s", ["polled", "CPU", "target", "verdict"], rows)


def test_attaching_to_a_long_run_while_the_main_thread_works(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", LINES)
    gaps = {"alone": _gaps_of_the_main_thread(lambda elapsed: elapsed > 2)}
    scheduler, feed = RefreshScheduler(), RunFeed(folder)
    began = time.monotonic()
    scheduler.add_poll(partial(_poll, feed))
    late = _gaps_of_the_main_thread(lambda elapsed: feed.health.lines == LINES)
    gaps[f"while catching up, {time.monotonic() - began:.1f} s"] = late
    scheduler.close()
    print_table(
        f"The main thread wakes every ms while a run with {LINES:,} lines is caught up on",
        ["", "median ms late", "99% ms late", "most ms late"],
        [
            [name, *(f"{1000 * np.quantile(late, q):.1f}" for q in (0.5, 0.99, 1))]
            for name, late in gaps.items()
        ],
    )


def _poll(feed: RunFeed) -> float:
    changed = feed.poll(side_files=False)
    return 0.0 if feed.behind else BUSY_SECONDS if changed else IDLE_SECONDS


def _gaps_of_the_main_thread(ended: object) -> list[float]:
    late = []
    began = time.monotonic()
    while not ended(time.monotonic() - began):  # type: ignore[operator]
        before = time.monotonic()
        time.sleep(0.001)
        late.append(time.monotonic() - before - 0.001)
    return late
