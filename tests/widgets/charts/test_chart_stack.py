"""Charts of one run's metrics, stacked over a common x axis, each with its own y axis."""

from __future__ import annotations

import io
from pathlib import Path

import bqplot
import numpy as np
import pytest
from overview.run_folders import metrics, run_in
from PIL import Image

from mosaic_lab.widgets.charts.chart import Line
from mosaic_lab.widgets.charts.chart_stack import ChartStack
from mosaic_lab.widgets.runs.run_panel import RunPanel


@pytest.mark.parametrize(
    ("moved", "shown"),
    [
        ((-1e9, 1e9), (None, None)),
        ((20.0, 40.0), (20.0, 40.0)),
        ((90.0, 130.0), (60.0, 100.0)),
        ((-70.0, -50.0), (0.0, 20.0)),
        ((-1.0, 99.0), (None, None)),
    ],
)
def test_charts_are_not_zoomed_or_panned_beyond_their_lines(
    moved: tuple[float, float], shown: tuple[float | None, float | None]
) -> None:
    stack = ChartStack()
    curves = [(np.linspace(0.0, end, 5), np.arange(5.0)) for end in (50.0, 100.0)]
    short, long = ([Line(f"{i}", f"{i}", "#000", curve)] for i, curve in enumerate(curves))
    stack.draw([("short", short), ("long", long)], "steps")
    with stack.x_scale.hold_trait_notifications():
        stack.x_scale.min, stack.x_scale.max = moved
    assert stack.window.x == shown


def test_metrics_of_a_run_have_charts_of_their_own_over_one_x_axis(tmp_path: Path) -> None:
    rows = [metrics(i, length=i, loss=1 / (i + 1), speed=5e6 * i) for i in range(100)]
    panel = RunPanel([run_in(tmp_path / "run", rows)], alone=True, metric="length")
    panel.start()
    assert panel.settle()

    def figures() -> list[bqplot.Figure]:
        return [part for part in panel.chart.box.children if isinstance(part, bqplot.Figure)]

    [alone] = figures()
    one = panel.static_picture()
    assert not alone.title, "a single metric is named in the legend, not in a title"
    panel.controls.low = 0.5
    panel.controls.chosen = ["length", "loss", "speed"]
    assert [figure.title for figure in figures()] == ["length", "loss", "speed"]
    tops = [figure.marks[-1].y.max() for figure in figures()]
    assert tops[1] < 2 and tops[2] > 1e8, "each metric keeps its own y range"
    assert len({figure.axes[0].scale for figure in figures()}) == 1
    assert [figure.axes[1].scale.min for figure in figures()] == [0.5] * 3
    sizes = [Image.open(io.BytesIO(png)).size for png in (one, panel.static_picture()) if png]
    assert sizes[1] == (sizes[0][0], 3 * sizes[0][1])
    panel.controls.hidden = ["length", "speed"]
    assert figures() == [alone] and not alone.title
    assert alone.marks[-1].y.max() == tops[1]
    panel.close()
