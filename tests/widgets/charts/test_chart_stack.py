"""Metrics of one run: charts below each other, each on a y axis of its own."""

from __future__ import annotations

import io
from pathlib import Path

import bqplot
from overview.run_folders import metrics, run_in
from PIL import Image

from mosaic_lab.widgets.runs.run_panel import RunPanel


def test_metrics_of_a_run_have_charts_of_their_own_over_one_x_axis(tmp_path: Path) -> None:
    rows = [metrics(i, length=i, loss=1 / (i + 1), speed=5e6 * i) for i in range(100)]
    panel = RunPanel([run_in(tmp_path / "run", rows)], alone=True, metric="length")
    panel.start()
    assert panel.settle()

    def figures() -> list[bqplot.Figure]:
        return [part for part in panel.chart.box.children if isinstance(part, bqplot.Figure)]

    [alone] = figures()
    one = panel.static_picture()
    assert not alone.title, "the legend names the only metric"
    panel.controls.low = 0.5
    panel.controls.chosen = ["length", "loss", "speed"]
    assert [figure.title for figure in figures()] == ["length", "loss", "speed"]
    tops = [figure.marks[-1].y.max() for figure in figures()]
    assert tops[1] < 2 and tops[2] > 1e8, "each fills the height of its own y axis"
    assert len({figure.axes[0].scale for figure in figures()}) == 1
    assert [figure.axes[1].scale.min for figure in figures()] == [0.5] * 3
    sizes = [Image.open(io.BytesIO(png)).size for png in (one, panel.static_picture()) if png]
    assert sizes[1] == (sizes[0][0], 3 * sizes[0][1])
    panel.controls.hidden = ["length", "speed"]
    assert figures() == [alone] and not alone.title
    assert alone.marks[-1].y.max() == tops[1]
    panel.close()
