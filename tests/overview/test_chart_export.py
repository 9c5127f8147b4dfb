"""Export of charts: all points in view as CSV, the drawn chart as PNG or SVG."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from overview.run_folders import START, metrics, run_in
from PIL import Image

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.overview import chart_export
from mosaic_lab.overview.chart_export import ExportedChart, export_charts
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.curve_model import ChartRequest
from mosaic_lab.overview.service import Service
from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache


@pytest.fixture
def pool(tmp_path: Path) -> ColumnPool:
    return ColumnPool(ColumnCache(tmp_path / "cache"))


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    labels = ["toy ppo $E_0$ seed 1", "toy ppo $E_0$ seed 2", "_toy <b>"]
    return [
        run_in(
            tmp_path / f"run{i}",
            [metrics(10 * step, loss=0.1 * step - i, other="NaN") for step in range(200)],
            label=label,
        )
        for i, label in enumerate(labels)
    ]


def test_a_csv_has_all_points_in_view_whatever_is_drawn(runs: list[Run], pool: ColumnPool) -> None:
    request = ChartRequest("loss", start=500, end=1000, points=16, smoothing=0.9, group_by=())
    file = export_charts(
        [ExportedChart(runs[:2], request), ExportedChart(runs[:1], ChartRequest("other", end=20))],
        "csv",
        pool,
    )
    assert (file.name, file.type) == ("charts.csv", "text/csv")
    table = pd.read_csv(io.BytesIO(file.content))
    assert list(table) == ["run", "name", "metric", "step", "time", "value"]
    first = table[(table["run"] == "run0") & (table["metric"] == "loss")]
    own = runs[0].metrics("loss")
    own = own[(own["step"] >= 500) & (own["step"] <= 1000)]
    for name, column in (("step", "step"), ("time", "timestamp"), ("value", "value")):
        assert first[name].tolist() == own[column].tolist()
    assert set(table["name"]) == {"seed 1", "seed 2", runs[0].label}
    assert table[table["metric"] == "other"]["value"].isna().tolist() == [True] * 3
    assert (len(table), table["time"].min()) == (51 * 2 + 3, START)
    nothing = export_charts([ExportedChart(runs, ChartRequest("none"))], "csv", pool).content
    assert nothing == b"run,name,metric,step,time,value\n"


def test_a_spreadsheet_calculates_nothing_that_a_run_is_called(runs: list[Run], pool: ColumnPool) -> None:
    runs[0].name = '=HYPERLINK("http://example.org")'
    chart = ExportedChart(runs[:1], ChartRequest("loss", end=20))
    table = pd.read_csv(io.BytesIO(export_charts([chart], "csv", pool).content))
    assert set(table["name"]) == {f"'{runs[0].name}"} and table["value"].min() == 0.0


@pytest.mark.parametrize("x", ["step", "time"])
def test_pictures_have_what_is_drawn(runs: list[Run], pool: ColumnPool, x: str) -> None:
    charts = [
        ExportedChart(runs, ChartRequest("loss", x, colors={"run1": "#123abc"})),
        ExportedChart(runs, ChartRequest("loss", x, smoothing=0.5, log_x=True, log_y=True)),
        ExportedChart(runs, ChartRequest("loss", x, group_by=("worker",), low=-1, high=5)),
        ExportedChart(runs, ChartRequest("none", x)),
    ]
    svg = export_charts(charts, "svg", pool)
    assert (svg.name, svg.type) == ("charts.svg", "image/svg+xml")
    ElementTree.fromstring(svg.content)
    assert b"#123abc" in svg.content
    png = export_charts(charts[:1], "png", pool)
    assert (png.name, png.type) == ("loss.png", "image/png")
    single, several = (
        Image.open(io.BytesIO(one.content)) for one in (png, export_charts(charts, "png", pool))
    )
    assert single.width == several.width and several.height == pytest.approx(2 * single.height, abs=2)


def test_what_cannot_be_exported_is_refused(
    runs: list[Run], pool: ColumnPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = ExportedChart(runs, ChartRequest("loss"))
    with pytest.raises(ConfigurationError, match="one of csv, png, svg, not 'gif'"):
        export_charts([chart], "gif", pool)
    for count in (0, 25):
        with pytest.raises(ConfigurationError, match=f"cannot export {count} charts"):
            export_charts([chart] * count, "png", pool)
    with pytest.raises(ConfigurationError, match=re.escape("#rrggbb, not 'red;}'")):
        ChartRequest("loss", colors={"run1": "red;}"})
    monkeypatch.setattr(chart_export, "MAX_ROWS", 599)
    with pytest.raises(ConfigurationError, match="at most 599 points"):
        export_charts([chart], "csv", pool)
    monkeypatch.setattr(chart_export, "READ_SECONDS", 0.0)
    monkeypatch.setattr("mosaic_lab.overview.column_pool.FIRST_BYTES", 100)
    for format in ("csv", "png"):
        with pytest.raises(MosaicError, match="export again in a minute"):
            export_charts([chart], format, ColumnPool(ColumnCache(runs[0].path.parent / "other")))


def test_a_page_requests_it_of_a_store(runs: list[Run]) -> None:
    ids = [run.id for run in runs]
    chart = {"runs": ids, "metric": "loss", "log_y": True, "high": 9, "colors": {ids[0]: "#010203"}}
    answer, [content] = Service(runs[0].path.parent).answer("export", {"charts": [chart], "format": "svg"})
    assert answer == {"name": "loss.svg", "type": "image/svg+xml"}
    assert b"#010203" in content
