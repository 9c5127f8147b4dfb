"""Charts of a run's resource use: collapsed to a line of text, drawn only while expanded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from overview.run_folders import START, append, metrics, run_in

from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.keeper.states import Outcome, RunStatus, State, Transition
from mosaic_lab.runs import Run
from mosaic_lab.widgets.runs.run_view import RunView, run_views
from mosaic_lab.widgets.runs.system_charts import SystemCharts


def measured(folder: Path, *samples: dict[str, float]) -> Run:
    """A run with one reported metric, whose keeper measured these samples 1000 steps apart."""
    run = run_in(folder, [metrics(0, a=1)])
    lines = [metrics(1000 * n, at=n, **_system(sample)) for n, sample in enumerate(samples)]
    for number, line in enumerate(lines):
        line["payload"]["episode"] = 3 * number
    append(folder, lines, "system.jsonl")
    return run


def _system(sample: dict[str, float]) -> dict[str, float]:
    return {f"system/{name}": value for name, value in sample.items()}


def views_of(*runs: Run) -> list[RunView]:
    views = run_views(runs, alone=len(runs) == 1)[1]
    for view in views:
        view.catch_up()
    return views


def drawn(charts: SystemCharts) -> dict[str, list[list[float]]]:
    """Values of each line, by the chart's label."""
    figures = charts.widgets[1].children[::2]  # each is followed by the box of values at the pointer
    return {figure.axes[1].label: np.atleast_2d(figure.marks[-1].y).tolist() for figure in figures}


@pytest.mark.parametrize(("x", "end"), [("step", 1000), ("episode", 3), ("time", 1)])
def test_a_run_with_two_gpus(tmp_path: Path, x: str, end: float) -> None:
    first = {"cpu_percent": 150, "memory_mb": 400, "gpu0_percent": 30, "gpu1_percent": 50}
    run = measured(tmp_path / "run", first, {**first, "gpu1_percent": 70, "memory_mb": 500})
    views = views_of(run)
    charts = SystemCharts(lambda: views)
    charts.draw(x)
    assert charts.head.text == "CPU up to 150%, memory up to 500 MB, GPU up to 50%"
    assert charts.widgets_beside == []  # nothing is drawn while collapsed
    charts.head.opened = True
    charts.draw(x)
    assert drawn(charts) == {
        "CPU, % of a core": [[150, 150]],
        "memory, MB": [[400, 500]],
        "GPU, %": [[30, 30], [50, 70]],
    }
    figures = charts.widgets[1].children[::2]  # each is followed by the box of values at the pointer
    assert np.atleast_2d(figures[0].marks[-1].x).tolist() == [[0, end]]
    assert len(set(figures[2].marks[-1].colors)) == 2
    charts.head.opened = False
    charts.draw(x)
    assert charts.widgets[1].children == ()


def test_several_runs_have_their_colours_and_one_line_of_text(tmp_path: Path) -> None:
    runs = [measured(tmp_path / name, {"cpu_percent": 40, "disk_mb": 3}) for name in ("a", "b")]
    views = views_of(*runs)
    charts = SystemCharts(lambda: views)
    charts.head.opened = True
    charts.draw("step")
    assert charts.head.text == "CPU up to 80%, disk up to 6 MB"
    assert charts.widgets[1].children[0].marks[-1].colors == [view.color for view in views]


def test_a_run_that_was_not_measured_has_no_line(tmp_path: Path) -> None:
    views = views_of(measured(tmp_path / "run"))
    charts = SystemCharts(lambda: views)
    charts.draw("step")
    assert charts.head.layout.display == "none"


@pytest.mark.parametrize(
    ("apart", "text"),
    [
        (0, "CPU up to 140%, memory up to 700 MB, disk up to 8 MB, GPU memory up to 900 MB"),
        (60, "CPU up to 80%, memory up to 450 MB, disk up to 8 MB, GPU memory up to 900 MB"),
    ],
)
def test_what_runs_cost_together_is_that_of_one_time(tmp_path: Path, apart: float, text: str) -> None:
    """Sums are of simultaneous samples only, and a GPU shared by the runs counts once."""
    runs = []
    for number, (cpu, memory) in enumerate([(60, 300), (80, 400)]):
        sample = {"cpu_percent": cpu, "memory_mb": memory, "disk_mb": 4, "gpu0_memory_mb": 900}
        run = measured(tmp_path / f"run{number}", sample, sample)
        begun = START + apart * number
        status = RunStatus(
            State.COMPLETED,
            "",
            begun + 1,
            (Transition(State.STARTING, "", begun),),
            outcome=Outcome(duration_seconds=1.0, peak_memory_mb=memory + 50),
        )
        write_json(run.folder.state_path, status.to_dict())
        runs.append(Run(run.folder))
    views = views_of(*runs)
    charts = SystemCharts(lambda: views)
    charts.draw("step")
    assert charts.head.text == text
