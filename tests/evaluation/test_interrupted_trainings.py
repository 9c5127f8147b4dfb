"""A training with ``evaluate=`` that is interrupted and resumed: each checkpoint is evaluated once."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from support import wait_until
from sweeps.interrupted import killed

import mosaic_lab as mosaic
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoints import EVALUATIONS

PATIENCE = 300.0
"""Time limit in seconds: checkpoint evaluations run at low priority."""


pytestmark = pytest.mark.usefixtures("cleanrl_environment")


def interrupted(run: Run, generator: random.Random) -> bool:
    """Stop or kill a training within seconds of a checkpoint; return whether it ended before completing."""
    wait_until(lambda: run.checkpoints or run.finished, PATIENCE)
    if generator.random() < 0.6:
        early = killed(run, generator, seconds=3.0)
        wait_until(lambda: not run.alive)  # its guardian ends a training whose keeper was killed
        return early
    with suppress(AssertionError):
        wait_until(lambda: run.finished, timeout=generator.uniform(0.0, 3.0))
    return run.stop().state == "cancelled"


@pytest.mark.extended
def test_stops_kills_and_resumptions_at_random_moments(lab: mosaic.Lab) -> None:
    generator = random.Random(34)
    ppo = {"algorithm": "ppo", "env": "CartPole-v1", "num_envs": 2, "num_steps": 64}
    run = lab.train(
        "cleanrl", seed=1, total_timesteps=30_000, checkpoint_every=5_000, evaluate={"seeds": [1]}, **ppo
    )
    sessions = [run]
    while len(sessions) < 4 and interrupted(run, generator):
        run = run.resume()
        sessions.append(run)
    assert len(sessions) > 2, "at least two interruptions before it completed"
    assert run.wait(PATIENCE).state == "completed"
    for evaluation in [one for one in lab.runs if one.worker == EVALUATIONS]:
        wait_until(lambda one=evaluation: one.finished, PATIENCE)  # type: ignore[misc]
    for session in sessions:
        saved = [checkpoint.step for checkpoint in session.checkpoints]
        assert sorted(session.metrics("evaluation/return")["step"]) == sorted(saved), session.reason
