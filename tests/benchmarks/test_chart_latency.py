"""Latency from a line in a run's file to the chart, with ten live runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.measuring import cpu_seconds, judged, print_table, size
from benchmarks.page import count_what_is_sent

from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.telemetry import feed_of
from mosaic_lab.widgets.page.live_panel import refresh_scheduler
from mosaic_lab.widgets.runs.following import BUSY_SECONDS
from mosaic_lab.widgets.runs.run_panel import RunPanel

RUNS = size(10, 3)
SECONDS = size(15.0, 2.0)

# Each value is the time of its writing, on a clock shared by all processes.
WORKER = """
import json, os, random, sys, time
began = json.load(open(sys.argv[2]))["began"]
while True:
    time.sleep(random.uniform(0.05, 0.5))
    now = time.monotonic() - began
    payload = {"step": int(now * 1000), "values": {"written_at": now}}
    line = {"event": "metrics", "timestamp": time.time(), "payload": payload}
    os.write(1, json.dumps(line).encode() + b"\\n")
"""


class Latency:
    """Time from the writing of each value until it is first seen."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._seen: set[float] = set()
        self.late: list[float] = []

    def see(self, values: np.ndarray) -> None:
        now = time.monotonic() - self._began
        new = set(values[np.isfinite(values)].tolist()) - self._seen
        self._seen |= new
        self.late += [now - value for value in new]


Viewing = Callable[[list[Run], Latency], Callable[[], None]]
"""Starts viewing runs and returns a function that stops it."""


def test_line_to_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_what_is_sent(monkeypatch)
    began = time.monotonic()
    supervisor = Supervisor(tmp_path / "runs", max_running=RUNS)
    start = partial(supervisor.start, [sys.executable, "-c", WORKER], {"began": began}, worker="bench")
    runs = [start(label=f"run {index}") for index in range(RUNS)]
    try:
        rows = [
            _measure("a poll", runs, began, _poll),
            _measure("chart data, one panel of all", runs, began, _one_panel),
            _measure("chart data, a panel each", runs, began, _panel_each),
        ]
    finally:
        for run in runs:
            run.stop(grace=0.1, wait=False)
        for run in runs:
            run.wait(60)
    print_table(
        f"From a line to its chart; {RUNS} live runs, four lines a second each, for {SECONDS:g} s",
        ["there", "lines", "median ms", "95% ms", "kernel CPU", "target (median)", "verdict"],
        rows,
    )


def _measure(name: str, runs: list[Run], began: float, viewing: Viewing) -> list[str]:
    latency = Latency(began)
    stop = viewing(runs, latency)
    time.sleep(1)
    latency.late.clear()  # values written before the first poll do not count
    cpu = cpu_seconds(lambda: time.sleep(SECONDS))
    late = list(latency.late)
    stop()
    assert late
    middle, most = (f"{1000 * np.quantile(late, q):.0f}" for q in (0.5, 0.95))
    return [name, str(len(late)), middle, most, f"{cpu / SECONDS:.1%}", *judged(float(middle), "<= 150 ms")]


def _poll(runs: list[Run], latency: Latency) -> Callable[[], None]:
    feeds = [feed_of(run.path) for run in runs]

    def poll() -> float:
        for feed in feeds:
            if feed.poll():
                for piece in map(feed.pieces, feed.names):
                    latency.see(piece[-1].value)
        return BUSY_SECONDS

    return refresh_scheduler().add_poll(poll)


def _one_panel(runs: list[Run], latency: Latency) -> Callable[[], None]:
    return _panels([RunPanel(runs, alone=False, metric="written_at")], latency)


def _panel_each(runs: list[Run], latency: Latency) -> Callable[[], None]:
    return _panels([RunPanel([run], alone=True, metric="written_at") for run in runs], latency)


def _panels(panels: list[RunPanel], latency: Latency) -> Callable[[], None]:
    for panel in panels:
        for mark in panel.chart.box.children[0].marks:
            mark.observe(lambda change: latency.see(change["new"]), names="y")
        panel.controls.smoothing = 0  # smoothed values would not be times of writing
        panel.header.presence = [["page", 0, True]]
        panel.start()

    def stop() -> None:
        for panel in panels:
            panel.header.presence = [["page", 1, False]]

    return stop
