"""Polling of run views: telemetry is read in bounded pieces, once for all views of a run."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from overview.run_folders import append, metrics, run_in

from mosaic_lab.widgets.runs.run_view import RunView


def test_every_view_of_a_run_notices_every_change(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", [metrics(1, x=1.0)])
    views = [RunView(run, "run", "red"), RunView(run, "again", "blue")]
    assert views[0].feed is views[1].feed
    assert [view.poll() for view in views] == [True, True], "a new view has data to draw"
    assert [view.poll() for view in views] == [False, False]
    append(run.path, [metrics(2, x=2.0)])
    assert [view.poll() for view in views] == [True, True]
    assert [view.step for view in views] == [2, 2]


def test_a_run_that_cannot_be_read_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = run_in(tmp_path / "broken", [])
    stream = run.path / "telemetry.jsonl"
    stream.unlink()
    stream.symlink_to(stream.name)
    view = RunView(run, "broken", "red")
    with caplog.at_level(logging.ERROR):
        assert not view.poll() and not view.poll()
    assert len([record for record in caplog.records if "broken" in record.getMessage()]) == 1
    stream.unlink()
    append(run.path, [metrics(1, x=1.0)])
    assert view.poll() and view.step == 1


def test_a_poll_reads_a_bounded_amount(tmp_path: Path) -> None:
    view = RunView(run_in(tmp_path / "long", (metrics(1, x=1.0) for _ in range(50_000))), "long", "red")
    assert view.poll() and view.feed.behind
    polls = 1
    while view.feed.behind:
        polls += view.poll()
    assert polls > 3
    assert view.feed.health.lines == 50_000
