"""A run's name, tags and notes: set by the user, stored in its folder, and safe under concurrent changes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from many_runs import write_runs

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(write_runs(tmp_path / "mosaic_runs", 1, points=2)[0])


def test_a_run_is_called_by_its_label_until_it_has_a_name(run: Run) -> None:
    assert (run.name, run.tags, run.notes) == (run.label, (), "")
    run.name, run.tags, run.notes = " baseline ", ["paper", "paper", "v2 "], "# Why\nbecause"
    again = Run(run.path)
    assert (again.name, again.tags, again.notes) == ("baseline", ("paper", "v2"), "# Why\nbecause")
    run.name = ""
    assert again.name == run.label and again.tags == ("paper", "v2")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "two\nlines", "must be one line"),
        ("name", "x" * 201, "at most 200 characters"),
        ("name", 7, "name=7"),
        ("tags", "paper", r'must be a list, such as \["baseline", "paper"\]'),
        ("tags", ["", "x"], "'' is not a tag"),
        ("tags", [str(number) for number in range(51)], "a run can have at most 50, not 51"),
        ("notes", None, "notes=None"),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_is_lost(
    run: Run, field: str, value: Any, message: str
) -> None:
    run.tags = ["kept"]
    with pytest.raises(ConfigurationError, match=message):
        setattr(run, field, value)
    assert run.tags == ("kept",)


def test_changes_at_the_same_time_do_not_lose_each_other(run: Run) -> None:
    def change(number: int) -> None:
        one = Run(run.path)
        if number % 2:
            one.tags = ["tag"]
        else:
            one.notes = "notes"

    for _ in range(10):
        run.tags, run.notes = [], ""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(change, range(8)))
        assert (run.tags, run.notes) == (("tag",), "notes")


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"name": 3, "tags": "x", "notes": []}', '{"tags": [1, null, "\\u001b[2Jok"]}', "{" * 9],
)
def test_a_damaged_file_is_read_as_far_as_it_is_valid(run: Run, content: str) -> None:
    (run.path / "annotations.json").write_text(content)
    assert run.name == run.label and run.notes == ""
    assert run.tags in ((), ("ok",))
    run.name = "mended"
    assert json.loads((run.path / "annotations.json").read_text())["name"] == "mended"
