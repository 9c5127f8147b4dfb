"""Names, tags and notes of runs on the command line: editing, filtering and listing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from many_runs import write_runs
from support import store

from mosaic_lab.cli import main
from mosaic_lab.runs import Run, Supervisor


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Run]]:
    monkeypatch.chdir(tmp_path)
    with store(tmp_path / "mosaic_runs"):
        write_runs(tmp_path / "mosaic_runs", 8, points=3)
        yield Supervisor(tmp_path / "mosaic_runs").runs()


def said(capsys: pytest.CaptureFixture[str], *typed: str) -> str:
    assert main(["runs", *typed]) == 0
    return capsys.readouterr().out


def test_names_tags_and_notes(
    runs: list[Run], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = runs[0], runs[1]
    assert said(capsys, "rename", first.id, "the baseline") == f"{first.id}: the baseline\n"
    tagged = said(capsys, "tag", "the baseline", second.id, "--add", "paper", "v1")
    assert tagged == f"{first.id}: paper, v1\n{second.id}: paper, v1\n"
    assert said(capsys, "tag", second.id, "--remove", "v1", "--add", "v2") == f"{second.id}: paper, v2\n"
    assert said(capsys, "tag", runs[2].id) == f"{runs[2].id}: no tags\n"
    assert said(capsys, "note", first.id) == "no notes\n"
    assert said(capsys, "note", first.id, "# Why") == "# Why\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("because"))
    assert said(capsys, "note", first.id, "-", "--append") == "# Why\nbecause\n"
    assert (first.name, first.tags, first.notes) == ("the baseline", ("paper", "v1"), "# Why\nbecause")
    shown = said(capsys, "show", "the baseline")
    assert "tags             paper, v1\n" in shown and "notes\n  # Why\n  because\n" in shown
    assert said(capsys, "rename", first.id, "") == f"{first.id}: {first.label}\n"


def test_without_a_command_the_runs_are_listed(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == said(capsys, "list")
    runs[3].tags, runs[4].tags, runs[4].notes = ["paper", "v1"], ["paper"], "the Small net"
    found = said(capsys, "--tag", "paper")
    assert runs[3].id in found and runs[4].id in found and runs[0].id not in found
    assert said(capsys, "list", "--tag", "paper", "--tag", "v1").count("\n") == 2
    assert runs[4].id in said(capsys, "--search", "small paper")
    assert said(capsys, "--search", "nowhere") == "no such runs\n"
    with pytest.raises(SystemExit) as left:
        main(["runs", "--help"])
    assert left.value.code == 0 and "rename" in capsys.readouterr().out


def test_the_list_as_json(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    runs[2].name = "one"
    rows = json.loads(said(capsys, "--json"))
    assert [row["id"] for row in rows] == [run.id for run in runs]
    assert (rows[2]["name"], rows[2]["state"], rows[2]["kind"]) == ("one", "completed", "training")
    assert rows[2]["last_return"] == pytest.approx(runs[2].recent_return)
    assert json.loads(said(capsys, "--json", "--search", "nowhere")) == []


def test_invalid_changes_are_refused_and_change_nothing(
    runs: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "tag", runs[0].id, "absent", "--add", "x"]) == 1
    assert "no run 'absent'" in capsys.readouterr().err and runs[0].tags == ()
    assert main(["runs", "rename", runs[0].id, "two\nlines"]) == 1
    assert "must be one line of at most 200 characters" in capsys.readouterr().err
