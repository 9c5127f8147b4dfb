"""Runs use the display given to their supervisor, and work without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from overview.run_folders import append, metrics, run_in
from support import at_work, start_peer, store

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.runs import RunGroup, Supervisor


class RecordingDisplay:
    """A display that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def frames(self, runs: Any, fps: float) -> Any:
        self.calls.append(("frames", *(run.id for run in runs), fps))

    def chart(self, runs: Any, metric: str) -> None:
        self.calls.append(("chart", *(run.id for run in runs), metric))

    def waiting(self, runs: Any) -> None:
        self.calls.append(("waiting", *(run.id for run in runs)))

    def run_ended(self, run: Any) -> None:
        self.calls.append(("ended", run.id))

    def run_continued(self, run: Any) -> None:
        self.calls.append(("continued", run.id))

    def run_removed(self, run: Any) -> None:
        self.calls.append(("removed", run.id))


def test_a_supervisor_hands_its_display_to_the_runs_that_it_starts_and_finds(tmp_path: Path) -> None:
    with store(tmp_path) as plain:
        display = RecordingDisplay()
        supervisor = Supervisor(plain.store.root, display=display)
        run = start_peer(supervisor, "train")
        run.frames(fps=5)
        run.wait(60)
        (found,) = supervisor.runs()
        RunGroup([found]).chart("value")
        RunGroup([supervisor.run(run.id)]).frames()
        found.remove()
    assert display.calls == [
        ("frames", run.id, 5),
        ("waiting", run.id),
        ("ended", run.id),
        ("chart", run.id, "value"),
        ("frames", run.id, 30),
        ("ended", run.id),
        ("removed", run.id),
    ]


def test_a_run_without_a_display_says_what_works_without_one(tmp_path: Path) -> None:
    with store(tmp_path) as supervisor:
        run = start_peer(supervisor, "train").wait(60)
        with pytest.raises(MosaicError, match=r"in a notebook.*run\.snapshot\(\) and run\.record\(\) work"):
            run.frames()
        with pytest.raises(MosaicError, match=r"in a notebook.*group\.metrics\(\) gives the data anywhere"):
            RunGroup([run]).chart()
        run.remove()


def test_a_metric_that_no_ended_run_has_reported_is_named_with_the_nearest(tmp_path: Path) -> None:
    loss = run_in(tmp_path / "loss", [metrics(1, loss=2.0)])
    speed = run_in(tmp_path / "speed", [metrics(1, speed=3.0)])
    for runs in (loss, RunGroup([loss, speed])):
        with pytest.raises(ConfigurationError, match=r"metric 'los' was not reported; did you mean 'loss'\?"):
            runs.metrics("los")
    both = RunGroup([loss, speed])
    assert list(both.metrics("speed")["value"]) == [3.0]
    wide = both.metrics(wide=True)
    assert list(wide.columns) == ["run", "seed", "step", "loss", "speed"]
    assert wide["loss"].dropna().tolist() == [2.0] and wide["speed"].dropna().tolist() == [3.0]
    assert speed.metrics(wide=True).to_dict("records") == [{"step": 1, "speed": 3.0}]
    assert run_in(tmp_path / "silent", []).metrics("los").empty
    with store(tmp_path / "runs") as supervisor:
        live = at_work(start_peer(supervisor, "hang", grace_seconds=0))
        append(live.path, [metrics(1, loss=2.0)])
        assert live.metrics("los").empty, "a live run may still report it"
