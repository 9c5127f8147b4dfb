"""Time to load the curves of a workspace's charts: parsed once, then mapped from the cache.

Many runs of many lines with six metrics each. Their files are hard links to a few files, so that the
benchmark fits on a disk; parsing and the cache are not affected.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pandas as pd
from benchmarks.measuring import figure_row, paired, print_table, ratio_row, seconds, size
from overview.run_folders import append, metrics, run_in

from mosaic_lab.keeper.states import State
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curves import CurveRequest, curves
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import RunFeed
from mosaic_lab.telemetry.column_cache import ColumnCache

(RUNS, LINES), KINDS = size((200, 100_000), (8, 1_000)), 4
METRICS = ("episode_return", "loss", "entropy", "value", "grad_norm", "steps_per_second")
START = 1_760_000_000.0


def write_file(path: Path, kind: int) -> Path:
    """Write a telemetry file of ``LINES`` lines, each with a value of each metric."""
    with path.open("w") as file:
        for index in range(LINES):
            values = {
                name: round(math.sin(index / 9e3 + kind) + (index * (place + 7)) % 17 / 50, 5)
                for place, name in enumerate(METRICS)
            }
            payload = {"step": 4 * index, "values": values}
            event = {"event": "metrics", "timestamp": START + index / 100, "payload": payload}
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    return path


def make_runs(folder: Path, count: int = RUNS) -> list[Run]:
    kinds = [write_file(folder / f"kind{kind}.jsonl", kind) for kind in range(KINDS)]
    runs = []
    for index in range(count):
        run = run_in(
            folder / f"run{index:03}", [], label=f"toy ppo E-v0 seed {index}", config={"seed": index}
        )
        run.folder.telemetry_path.unlink()
        os.link(kinds[index % KINDS], run.folder.telemetry_path)
        runs.append(run)
    return runs


def read_all(runs: list[Run], pool: ColumnPool) -> None:
    for _ in pool.columns(runs, Reading(), seconds=math.inf):
        pass


def update_of_live_runs(folder: Path, cache: ColumnCache) -> list[str]:
    """Return a table row: the update of one chart of ten live runs, each with ``LINES`` points."""
    pool, runs = ColumnPool(cache), []
    with ExitStack() as locks:
        for index in range(10):
            run = run_in(folder / f"live{index}", [], state=State.RUNNING)
            shutil.copy(folder / "kind0.jsonl", run.folder.telemetry_path)
            lock = locks.enter_context(run.folder.lock_path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)  # as its keeper does
            runs.append(run)
        read_all(runs, pool)
        taken = []
        for update in range(20):
            for run in runs:
                steps = range(4 * LINES + 80 * update, 4 * LINES + 80 * (update + 1), 4)
                append(run.path, [metrics(step, **dict.fromkeys(METRICS, 1.0)) for step in steps])
            taken.append(seconds(lambda: curves(runs, CurveRequest(METRICS[0]), pool).answer()))
    return figure_row("ten live runs with 20 new lines each", median(taken), "<= 0.05 s", "{:.3f}")


def test_curves_of_many_runs(tmp_path: Path) -> None:
    runs = make_runs(tmp_path)
    cache = ColumnCache(tmp_path / "cache")
    size = runs[0].folder.telemetry_path.stat().st_size

    cold = iter(runs)

    def ours() -> float:
        return seconds(lambda: read_all([next(cold)], ColumnPool(cache)))

    def pandas() -> float:
        return seconds(lambda: pd.read_json(runs[0].folder.telemetry_path, lines=True))

    def live() -> float:
        feed = RunFeed(runs[0].path)

        def read() -> None:
            while feed.poll() or feed.behind:
                pass

        return seconds(read)

    parsing = [
        ratio_row("pandas.read_json", paired(ours, pandas, pairs=3), "<= 1"),
        ratio_row("the live chart's feed", paired(ours, live, pairs=3), "<= 1"),
    ]
    print_table(
        f"Parsing a run of {LINES:,} lines with {len(METRICS)} metrics ({size / 1e6:.0f} MB) into the cache",
        ["against", "ours s", "theirs s", "ratio", "target", "verdict"],
        parsing,
    )
    all_cold = seconds(lambda: read_all(runs, ColumnPool(cache)))
    kept = sum(path.stat().st_size for path in cache.folder.iterdir())
    request = CurveRequest(METRICS[0], points=600)
    pool = ColumnPool(cache)
    first = seconds(lambda: curves(runs, request, pool))

    def chart() -> float:
        return seconds(lambda: curves(runs, request, pool).answer())

    def raw() -> float:
        """Time to read only the bytes of the curves' files."""
        return seconds(lambda: [len(run.folder.telemetry_path.read_bytes()) for run in runs])

    def workspace() -> float:
        """Time for the charts of a new page, in a process that has read nothing yet."""
        fresh = ColumnPool(cache)
        return seconds(lambda: [curves(runs, CurveRequest(name), fresh).answer() for name in METRICS])

    variants = {
        "one chart again": request,
        "… zoomed to a tenth": CurveRequest(METRICS[0], start=1.8e5, end=2.2e5),
        "… by relative time": CurveRequest(METRICS[0], "relative"),
        "… smoothed": CurveRequest(METRICS[0], smoothing=0.6),
        "… without outliers": CurveRequest(METRICS[0], outliers=True),
        "… mean of all with its interval": CurveRequest(METRICS[0], group_by=()),
        "… means of 20 groups of 10": CurveRequest(METRICS[0], group_by=("group",)),
    }
    for index, run in enumerate(runs):
        run._launch["group"] = f"group {index % 20}"
    rows = [
        ["all parsed, once", f"{all_cold:.1f}", f"{(RUNS - 6) * size / all_cold / 1e6:.0f} MB/s", ""],
        figure_row("one chart, first time in a process", first, "<= 0.5 s", "{:.3f}"),
    ]
    for name, one in variants.items():
        taken = median(seconds(lambda one=one: curves(runs, one, pool).answer()) for _ in range(5))
        rows.append(figure_row(name, taken, "<= 0.3 s", "{:.3f}"))
    opening = median(workspace() for _ in range(3))
    rows.append(figure_row("six charts, first time in a process", opening, "<= 2 s", "{:.3f}"))
    rows.append(update_of_live_runs(tmp_path, cache))
    print_table(
        f"Curves of {RUNS} runs x {LINES:,} points, 600 points a line (cache: {kept / 1e9:.2f} GB)",
        ["what", "seconds", "target", "verdict"],
        rows,
    )
    print_table(
        f"One chart of {RUNS} runs, against reading its {RUNS * size / 1e9:.1f} GB of telemetry from memory",
        ["against", "ours s", "theirs s", "ratio", "target", "verdict"],
        [ratio_row("the files' bytes", paired(chart, raw, pairs=3), "<= 0.3")],
    )
