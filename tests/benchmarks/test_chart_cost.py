"""Cost of a chart update for the kernel and the connection, for short and long runs."""

from __future__ import annotations

import fcntl
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import cpu_seconds, judged, print_table, size
from benchmarks.page import CountingComm, count_what_is_sent
from benchmarks.telemetry_files import RETURN, write_run

from mosaic_lab.runs import Run
from mosaic_lab.widgets.charts.chart import Chart
from mosaic_lab.widgets.runs.run_view import ChartSettings, RunView, chart_content

UPDATES = size(60, 2)
POINTS = size((1_000, 100_000, 1_000_000), (100, 1_000))


class LongRun:
    """The chart of a run that has written ``lines`` points of one metric so far."""

    def __init__(self, folder: Path, lines: int) -> None:
        self._folder, self._lines = write_run(folder, lines, names=[RETURN]), lines
        run = Run(folder)
        self._keeper = run.folder.lock_path.open("w")
        fcntl.flock(self._keeper, fcntl.LOCK_EX)  # the run is alive
        self._view = RunView(run, "run", "#000000")
        self._view.catch_up(seconds=60)
        self._chart = Chart()

    def update(self, settings: ChartSettings) -> tuple[float, int]:
        """Append ten lines and draw them; return the CPU seconds and the bytes sent."""
        write_run(self._folder, 10, begin=self._lines, names=[RETURN])
        self._lines += 10
        before = CountingComm.sent
        cpu = cpu_seconds(lambda: self._take_and_draw(settings))
        return cpu, CountingComm.sent - before

    def _take_and_draw(self, settings: ChartSettings) -> None:
        assert self._view.feed.poll()
        drawn = chart_content([self._view], settings, alone=True)
        self._chart.draw(drawn.lines, drawn.x_label)


def test_cost_of_an_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_what_is_sent(monkeypatch)
    runs = [LongRun(tmp_path / f"run{points}", points) for points in POINTS]
    for smoothing in (0.0, 0.9):
        settings = ChartSettings(metrics=(RETURN,), smoothing=smoothing)
        for run in runs:
            run.update(settings)
        costs = list(zip(*([run.update(settings) for run in runs] for _ in range(UPDATES)), strict=True))
        cpu = [median(seconds for seconds, _ in measured) for measured in costs]
        sent = [median(count for _, count in measured) for measured in costs]
        assert min(sent) > 0
        print_table(
            f"Cost of one chart update, smoothing {smoothing:g} (median of {UPDATES}, interleaved)",
            ["points", "kernel CPU ms", "to the browser KB", "CPU ratio", "bytes ratio", "target", "verdict"],
            [
                [
                    f"{n:,}",
                    f"{1e3 * c:.2f}",
                    f"{s / 1e3:.1f}",
                    f"{c / cpu[0]:.2f}",
                    f"{s / sent[0]:.2f}",
                    *judged(max(c / cpu[0], s / sent[0]), "<= 1.2"),
                ]
                for n, c, s in zip(POINTS, cpu, sent, strict=True)
            ],
        )
