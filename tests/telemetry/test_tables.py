"""Tables of metrics and episodes hold every valid line that was written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mosaic_lab.telemetry import RunFeed, metrics_table, read_episodes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.jsonl"


def read_metrics(path: Path, name: str | None = None) -> pd.DataFrame:
    feed = RunFeed(path.parent)
    while feed.poll() or feed.behind:
        pass
    return metrics_table(feed, name)


def write(path: Path, *lines: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def metrics(step: int | None, values: dict[str, Any], timestamp: float | None = 1.7e9) -> dict[str, Any]:
    return {
        "event": "metrics",
        "run_id": "r",
        "timestamp": timestamp,
        "payload": {"step": step, "values": values},
    }


def test_one_row_a_point_in_order_of_writing(path: Path) -> None:
    write(path, metrics(10, {"a": 1, "b": 2.5}), {"type": "step"}, metrics(20, {"a": 3}, 1.7e9 + 1))
    table = read_metrics(path)
    assert table.dtypes.astype(str).to_dict() == {
        "step": "int64",
        "timestamp": "float64",
        "name": "category",
        "value": "float64",
    }
    rows = [tuple(row) for row in table.itertuples(index=False)]
    assert rows == [(10, 1.7e9, "a", 1.0), (10, 1.7e9, "b", 2.5), (20, 1.7e9 + 1, "a", 3.0)]


def test_no_file_gives_an_empty_table(path: Path) -> None:
    assert list(read_metrics(path)) == ["step", "timestamp", "name", "value"]
    assert read_metrics(path).empty
    assert read_episodes(path).empty
    assert "total_reward" in read_episodes(path)


def test_bad_lines_are_left_out_and_counted(path: Path) -> None:
    path.write_bytes(b'garbage\n{"a": "\xff"}\n')
    write(path, metrics(1, {"x": 1}))
    path.write_bytes(path.read_bytes() + b'{"torn": ')
    table = read_metrics(path)
    assert len(table) == 1
    assert table.attrs["health"]["malformed"] == 1
    assert table.attrs["health"]["invalid_utf8"] == 1


def test_episodes_have_their_fields_and_missing_ones_are_missing(path: Path) -> None:
    write(
        path,
        {
            "type": "episode",
            "run_id": "r",
            "episode_index": 0,
            "agent_id": "agent_0",
            "total_reward": 21.5,
            "steps": 20,
            "terminated": True,
            "truncated": False,
            "episode_seed": 7,
            "duration_seconds": 0.5,
            "metadata": {"ignored": [1, 2]},
        },
        metrics(10, {"a": 1}),
        {"type": "episode", "run_id": "r", "episode_index": 1, "total_reward": "NaN", "step": 40},
    )
    table = read_episodes(path)
    assert table["episode_index"].tolist() == [0, 1]
    assert table["agent_id"].iloc[0] == "agent_0"
    assert table["total_reward"].iloc[0] == 21.5
    assert math.isnan(table["total_reward"].iloc[1])
    assert table["terminated"].iloc[0]
    assert table["steps"].isna().tolist() == [False, True]
    assert table["step"].iloc[1] == 40
    assert table["steps"].dtype == "Int64"
