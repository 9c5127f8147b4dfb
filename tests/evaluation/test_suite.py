"""Suites: scores normalised and weighted equally over environments; mismatched evaluations are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation.evaluation_fixtures import Evaluate

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError

BOUNDS = {"CartPole-v1": (10.0, 500.0), "MountainCar-v0": (-200.0, 0.0)}
PNG = b"\x89PNG\r\n\x1a\n"


def two() -> dict[str, object]:
    return {"random": operators.random(), "still": operators.passive()}


def test_a_suite_is_summed_up_over_environments(start_evaluation: Evaluate, tmp_path: Path) -> None:
    mosaic.Lab(tmp_path)
    poles = start_evaluation("CartPole-v1", two(), seeds=range(12))
    cars = start_evaluation("MountainCar-v0", two(), seeds=range(6), max_steps=40).wait(120)
    suite = mosaic.Suite([poles.wait(120), cars], bounds=BOUNDS)
    summary = suite.summary()
    returns = {ev.plan.env_id: ev.results().groupby("operator")["return"].mean() for ev in suite.evaluations}
    expected = np.mean([(returns[env]["random"] - low) / (high - low) for env, (low, high) in BOUNDS.items()])
    assert summary["mean"]["random"] == pytest.approx(expected)
    assert summary["optimality_gap"]["random"] == pytest.approx(1 - expected)
    assert list(summary["episodes"]) == [18, 18]
    assert (summary["mean_low"] <= summary["mean"]).all()
    assert summary.equals(suite.summary(rng=summary.attrs["rng"]))

    versus = suite.compare("random", "still", rng=3)
    assert versus.difference.value == pytest.approx(summary["mean"]["random"] - summary["mean"]["still"])
    assert versus == suite.compare("random", "still", rng=3)
    assert versus.probability.value > 0.5
    assert repr(versus).startswith("random − still: +") and versus.over in repr(versus)
    profile = suite.profile([0.0, 2.0])["random"]
    assert profile.share[1] == 0.0
    assert suite.profile_plot().png(tmp_path / "profile.png").read_bytes().startswith(PNG)
    assert suite.interval_plot().facets[0].rows == ("random", "still")


def test_everything_that_does_not_fit_is_reported_at_once(start_evaluation: Evaluate) -> None:
    one = start_evaluation("CartPole-v1", two(), seeds=[1, 2])
    other = start_evaluation("CartPole-v1", {"random": operators.random()}, seeds=[1]).wait(120)
    stopped = start_evaluation(
        "MountainCar-v0", {"random": operators.random()}, seeds=range(9), step_delay=0.1
    )
    stopped.stop()
    with pytest.raises(ConfigurationError) as caught:
        mosaic.Suite([one.wait(120), other, stopped], bounds={"CartPole-v1": (1, 1), "Pong": (0, 1)})
    for part in (
        "7 problems",
        "2 evaluations are of CartPole-v1",
        "bounds of CartPole-v1: (1, 1) must be two finite numbers that differ",
        "no bounds for MountainCar-v0",
        "bounds are given for Pong, which has no evaluation",
        f"CartPole-v1 ({other.id}): no operator still, which others have",
        f"MountainCar-v0 ({stopped.id}): no operator still, which others have",
        f"MountainCar-v0 ({stopped.id}): 0 of 9 episodes are done",
    ):
        assert part in str(caught.value)
    with pytest.raises(ConfigurationError, match="there are no evaluations"):
        mosaic.Suite([], bounds={})
