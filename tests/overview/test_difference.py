"""Difference of two runs: every recorded fact of both, and whether their values agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from many_runs import write_runs
from overview.run_folders import metrics, run_in
from support import store

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.difference import difference
from mosaic_lab.overview.service import Service, details
from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache

Sections = dict[str, dict[str, tuple[str, str, bool]]]


@pytest.fixture
def pool(tmp_path: Path) -> ColumnPool:
    return ColumnPool(ColumnCache(tmp_path / "cache"))


def found(first: Run, second: Run, pool: ColumnPool) -> Sections:
    return {
        section.title: {row.name: (*row.values, row.same) for row in section.rows}
        for section in difference(first, second, pool)
    }


@pytest.mark.usefixtures("toy")
def test_two_trainings_side_by_side(tmp_path: Path, pool: ColumnPool) -> None:
    with store(tmp_path / "runs"):
        lab = mosaic.Lab(tmp_path / "runs")
        walk = {"algorithm": "walk", "env": "Hill-v0"}
        first = lab.train("toy", **walk, total_timesteps=50, learning_rate=0.25)
        second = lab.train("toy", **walk, total_timesteps=60, seed=2)
        assert isinstance(first, Run) and isinstance(second, Run)
        sections = found(first.wait(60), second.wait(60), pool)
        details_of = Service(lab.root).answer("details", {"runs": [first.id]})[0]["runs"][first.id]
    assert list(sections) == ["Configuration", "Hyperparameters", "Code", "Packages", "Hardware", "Results"]
    configuration = sections["Configuration"]
    assert configuration["worker"] == ("toy", "toy", True)
    assert configuration["total_timesteps"] == ("50", "60", False)
    assert configuration["checkpoint.every_timesteps"] == ("null", "null", True)
    assert "run_id" not in configuration and "environment variables" not in configuration
    assert sections["Hyperparameters"] == {"learning_rate": ("0.25", "0.5", False)}
    assert all(same for *_, same in sections["Packages"].values())
    assert sections["Packages"]["mosaic-contract"][2] and sections["Packages"]["worker's Python"][2]
    assert sections["Results"]["last height"] == ("12.2", "29.5", False)
    assert sections["Results"]["state"] == ("completed", "completed", True)
    assert sections["Hardware"]["platform"][2]
    assert details_of["results"]["height"] == 12.25
    assert details_of["code"].startswith('lab.train(\n    "toy",')


def test_what_only_one_has_what_looks_alike_and_what_is_no_number(tmp_path: Path, pool: ColumnPool) -> None:
    first, second = (
        run_in(tmp_path / name, [metrics(1, loss=loss)], config=config)
        for name, loss, config in (
            ("a", float("nan"), {"hyperparameters": {"a": 0.1 + 0.2, "b": 3, "d": float("nan"), "e": True}}),
            ("b", 2.0, {"hyperparameters": {"a": 0.3, "b": "3", "c": [1], "d": float("nan"), "e": True}}),
        )
    )
    git = {"commit": "0" * 40, "dirty": True}
    frozen = {"freeze": ["Torch_x==2.0", "mine @ file:///home/mine", "-e git+https://h/o#egg=own", 3]}
    write_json(first.folder.provenance_path, {"git": git, "environment": frozen})
    write_json(second.folder.provenance_path, {"git": {**git, "dirty": []}, "environment": {"freeze": {}}})
    sections = found(first, second, pool)
    assert sections["Hyperparameters"] == {
        "a": ("0.30000000000000004", "0.3", False),
        "b": ("3", "'3'", False),
        "d": ("nan", "nan", True),
        "e": ("true", "true", True),
        "c": ("", "[1]", False),
    }
    assert sections["Code"]["git commit"][2]
    assert sections["Code"]["git uncommitted changes"] == ("yes", "unknown", False)
    assert sections["Packages"]["torch-x"] == ("2.0", "", False)
    assert {"mine", "own", "3"} < set(sections["Packages"])
    json.dumps(details(first, pool), allow_nan=False)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"config": 1e999, "hyperparameters": 3, "git": [0]}'])
def test_broken_folders_and_large_values_are_shown_as_far_as_they_go(
    tmp_path: Path, pool: ColumnPool, content: str
) -> None:
    whole = Run(write_runs(tmp_path / "store", 1, points=3)[0])
    broken = tmp_path / "store" / "broken"
    broken.mkdir()
    for name in ("config.json", "launch.json", "provenance.json", "state.json", "telemetry.jsonl"):
        (broken / name).write_text(content)
    sections = found(whole, Run(broken), pool)
    assert sections["Configuration"]["worker"] == (whole.worker, "unknown", False)
    assert sections["Results"]["state"][1] == "lost"
    details(Run(broken), pool)
    large: dict[str, Any] = {f"key {number}": "x" * number for number in range(3000)}
    write_json(whole.folder.config_path, large)
    rows = found(Run(whole.path), whole, pool)["Configuration"]
    assert len(rows) < 1_010 and any(name.endswith("of which differ") for name in rows)
    assert max(len(text) for *texts, _ in rows.values() for text in texts) <= 1_000


def test_a_page_requests_it_of_two_runs_of_the_store(tmp_path: Path) -> None:
    runs = [path.name for path in write_runs(tmp_path, 2, points=3)]
    service = Service(tmp_path)
    answer, parts = service.answer("difference", {"runs": runs})
    row = next(
        row
        for section in answer["sections"]
        for row in section["rows"]
        if (section["title"], row["name"]) == ("Configuration", "seed")
    )
    assert (row, parts) == ({"name": "seed", "values": ("0", "1"), "same": False}, [])
    with pytest.raises(ConfigurationError, match="difference"):
        service.answer("difference", {"runs": runs[:1]})
    with pytest.raises(UnknownRun):
        service.answer("difference", {"runs": [runs[0], "absent"]})
    assert set(service.answer("details", {"runs": runs})[0]["runs"]) == set(runs)
