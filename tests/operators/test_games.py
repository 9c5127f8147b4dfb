"""Atari games by their id: training, and the trained policy in an evaluation and a comparison."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare

from mosaic_lab import Lab, operators
from mosaic_lab.runs import Run

PONG = "ALE/Pong-v5"
MAX_STEPS = 40
TINY: dict[str, dict[str, Any]] = {
    "cleanrl": {"num_envs": 2, "num_steps": 32, "update_epochs": 1},
    "sb3": {"num_envs": 2, "n_steps": 32, "batch_size": 16, "n_epochs": 1, "wrappers": ["atari"]},
    "rllib": {
        "train_batch_size_per_learner": 64,
        "minibatch_size": 32,
        "num_epochs": 1,
        "num_env_runners": 0,
        "wrappers": ["atari"],
    },
    "xuance": {"parallels": 2, "horizon_size": 32, "n_epochs": 1, "wrappers": ["atari"]},
    "tianshou": {
        "num_training_envs": 2,
        "collection_step_num_env_steps": 64,
        "update_step_num_repetitions": 1,
        "wrappers": ["atari"],
    },
}

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("worker", TINY)
def test_pong_is_trained_evaluated_and_compared(
    worker: str, tmp_path: Path, start_comparison: Compare
) -> None:
    """In the comparison, the same policy plays the same actions in both lanes."""
    if worker == "cleanrl" and "MOSAIC_TEST_CLEANRL_CHECKOUT" not in os.environ:
        pytest.skip("the release of CleanRL has no games: no checkout of current upstream is named")
    lab = Lab(tmp_path / "runs")
    run = lab.train(worker, algorithm="ppo", env=PONG, seed=1, total_timesteps=128, **TINY[worker])
    assert isinstance(run, Run)
    run.wait()
    described = json.loads(run.checkpoints[-1].path.with_suffix(".json").read_text())
    assert described["wrappers"][0] == "atari"
    policy = operators.rl(run)
    sides = {"PPO": policy, "random": operators.random()}
    evaluation = lab.evaluate(env=PONG, operators=sides, seeds=[1, 2], max_steps=MAX_STEPS)
    played = evaluation.wait().results()
    assert len(played) == 4
    assert set(played["length"]) == {MAX_STEPS}
    comparison = start_comparison(PONG, {"PPO": policy, "again": operators.rl(run)}, [1])
    comparison.step(MAX_STEPS)
    assert comparison.steps("PPO")["action"].tolist() == comparison.steps("again")["action"].tolist()
