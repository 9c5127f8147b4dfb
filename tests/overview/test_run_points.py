"""Where a film lies on a chart, whatever its x axis shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from overview.run_folders import START, metrics, run_in

from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.run_points import step_places

NOWHERE = {"episode": None, "time": None, "relative": None}


def test_a_film_lies_at_the_nearest_point_of_its_run(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", [metrics(0, loss=3.0), metrics(100, 50.0, loss=2.0)])
    (_, columns), *_ = ColumnPool().columns([run], Reading())
    assert step_places(columns, [4, 90]) == [
        {"step": 4, "episode": 0, "time": START, "relative": 0},
        {"step": 90, "episode": 0, "time": START + 50, "relative": 50},
    ]


@pytest.mark.parametrize("events", [[], [metrics(None, 1.0, **{"system/cpu_percent": 3.0})]])
def test_a_run_without_a_curve_has_steps_only(tmp_path: Path, events: list[dict[str, object]]) -> None:
    run = run_in(tmp_path / "run", events)
    (_, columns), *_ = ColumnPool().columns([run], Reading())
    assert step_places(columns, [4]) == step_places(None, [4]) == [{"step": 4, **NOWHERE}]
