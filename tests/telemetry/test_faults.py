"""Telemetry of faulty workers, read through a run: no valid line is lost, and torn lines are not read."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support import start_peer, wait_until

from mosaic_lab.errors import RunFailed
from mosaic_lab.runs import Supervisor


def test_a_torn_line(supervisor: Supervisor, tmp_path: Path) -> None:
    run = start_peer(supervisor, "torn_line", hold=str(tmp_path / "hold"), go=str(tmp_path / "go"))
    wait_until((tmp_path / "hold").exists)
    assert list(run.metrics("value")["step"]) == [1]  # the torn line is not read before its end
    (tmp_path / "go").touch()
    with pytest.raises(RunFailed, match="signal 9"):
        run.wait(30)
    assert list(run.metrics("value")["step"]) == [1]


def test_no_line_of_a_flood_is_lost(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "flood", total_timesteps=200_000)
    other = start_peer(supervisor, "train", total_timesteps=100)
    run.wait(60)
    metrics = run.metrics("value")
    assert len(metrics) == 200_000
    assert int(metrics["step"].iloc[-1]) == 199_999
    assert other.wait(30).health["lines"] == 102


def test_nan_and_infinity(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "not_numbers").wait(30)
    values = list(run.metrics("value")["value"])
    assert [values[0], values[2], values[3], values[4]] == [1.0, math.inf, -math.inf, 2.0]
    assert math.isnan(values[1]) and math.isnan(values[5])
    assert list(run.metrics("eval/return")["value"]) == [3.0], "nested objects are flattened"
    assert list(run.metrics("eval/by_seed/1")["value"]) == [2.0]
    assert run.health["malformed"] == 0


def test_a_clock_that_jumps(supervisor: Supervisor) -> None:
    """A day back, a day forward: every point is read in the order of writing, and the duration is right."""
    run = start_peer(supervisor, "jumping_clock").wait(30)
    metrics = run.metrics("value")
    assert list(metrics["step"]) == list(range(8))
    assert not metrics["timestamp"].is_monotonic_increasing
    assert run.state == "completed"
    assert run.outcome is not None and run.outcome.duration_seconds is not None
    assert 0 <= run.outcome.duration_seconds < 60
