"""Points drawn of a run of any length, and the position of a film on each x axis."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from overview.run_folders import START, append, metrics, run_in

from mosaic_lab.overview import run_points
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curve_model import CurveRequest
from mosaic_lab.overview.run_points import read_points, step_positions, thin
from mosaic_lab.telemetry import column_chunks
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns

NOWHERE = {"episode": None, "time": None, "relative": None}


def test_a_film_lies_at_the_nearest_point_of_its_run(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", [metrics(0, loss=3.0), metrics(100, 50.0, loss=2.0)])
    (_, columns), *_ = ColumnPool().columns([run], Reading())
    assert step_positions(columns, [4, 90]) == [
        {"step": 4, "episode": 0, "time": START, "relative": 0},
        {"step": 90, "episode": 0, "time": START + 50, "relative": 50},
    ]


@pytest.mark.parametrize("events", [[], [metrics(None, 1.0, **{"system/cpu_percent": 3.0})]])
def test_a_run_without_a_curve_has_steps_only(tmp_path: Path, events: list[dict[str, object]]) -> None:
    run = run_in(tmp_path / "run", events)
    (_, columns), *_ = ColumnPool().columns([run], Reading())
    assert step_positions(columns, [4]) == step_positions(None, [4]) == [{"step": 4, **NOWHERE}]


def written(folder: Path, values: Iterable[float], begin: int = 0) -> Path:
    """Append ``values`` to a run without episodes, 10 steps and 1 second apart."""
    folder.mkdir(exist_ok=True)
    append(folder, [metrics(10 * i, i, loss=_spelled(value)) for i, value in enumerate(values, begin)])
    return folder


def _spelled(value: float) -> Any:
    return float(value) if np.isfinite(value) else "NaN" if np.isnan(value) else "Infinity"


def read(columns: RunColumns) -> RunColumns:
    while columns.read(lambda: False, 20_000):
        pass
    return columns


@pytest.fixture
def many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (column_chunks, run_points):
        monkeypatch.setattr(module, "CHUNK_ROWS", 200)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("axis", ["step", "episode", "relative"])
def test_a_run_is_drawn_as_if_it_had_not_been_drawn_while_it_grew(
    tmp_path: Path, many_chunks: None, axis: str, averaged: bool
) -> None:
    values = np.random.default_rng(0).normal(size=6000)
    values[1234], values[4321] = 50.0, -70.0
    values[2000:2100], values[3000] = np.nan, np.inf
    cache, folder = ColumnCache(tmp_path / "cache"), tmp_path / "run"
    often, once = RunColumns(folder, cache), RunColumns(folder, cache)
    for begin in range(0, 6000, 1500):
        written(folder, values[begin : begin + 1500], begin)
        drawn = read_points(read(often), CurveRequest("loss", axis), 100, averaged)
        read(once)
    fresh = read_points(once, CurveRequest("loss", axis), 100, averaged)
    for one, other in zip(drawn.curve, fresh.curve, strict=True):
        np.testing.assert_array_equal(one, other)
    x, y = drawn.curve
    assert 40 < len(x) <= 100 and np.all(np.diff(x) >= 0)
    if averaged:
        assert np.isfinite(y).all() and abs(y).max() < 5 and abs(y.mean()) < 0.1
    else:
        assert (np.nanmin(y), np.nanmax(y)) == (-70, 50) and np.isnan(y).any()
        assert (drawn.low, drawn.high) == (x[0], x[-1]), "the run's ends are not drawn"


def test_means_are_those_of_all_values_not_of_the_extremes(tmp_path: Path, many_chunks: None) -> None:
    skewed = np.random.default_rng(0).exponential(size=8000)  # mean 1; the mean of the extremes is about 4
    columns = read(RunColumns(written(tmp_path / "run", skewed), ColumnCache(tmp_path / "cache")))
    _, y = read_points(columns, CurveRequest("loss"), 100, averaged=True).curve
    assert y.mean() == pytest.approx(skewed.mean(), abs=0.02)


def test_thinned_points_look_like_all_of_them() -> None:
    x = np.arange(50_000.0)
    y = np.sin(x / 500)
    y[20_000:21_000] = np.nan
    kept = thin(x, y, 1000)
    assert 500 < len(kept) <= 1000 and (kept[0], kept[-1]) == (0, 49_999)
    assert np.isnan(y[kept]).sum() == 1 and 20_000 in kept, "a gap is not one point"
    in_tenths, _ = np.histogram(kept, bins=10)
    assert in_tenths.min() > 0.8 * np.median(in_tenths)
    every_other = np.where(x % 2, x, np.nan)
    assert np.isfinite(every_other[thin(x, every_other, 1000)]).sum() > 500
    assert len(thin(x, np.full(50_000, np.nan), 1000)) < 1000
    assert 500 < len(thin(np.zeros(50_000), y, 1000)) <= 1000, "constant x"
