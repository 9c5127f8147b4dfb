"""Networks and tuned hyperparameters of Stable-Baselines3: recorded in the run and used to act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare

from mosaic_lab import ConfigurationError, Lab, operators
from mosaic_lab.runs import Run

GRID = "MiniGrid-Empty-5x5-v0"


def test_tuned_hyperparameters_are_resolved_and_those_given_kept(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "runs")
    given: dict[str, Any] = {"algorithm": "ppo", "total_timesteps": 256, "tuned": True, "n_epochs": 1}
    with pytest.raises(ConfigurationError, match=r"for CartPole-v0; did you mean 'CartPole-v1'\? It has Ac"):
        lab.train("sb3", env="CartPole-v0", **given)
    run = lab.train("sb3", env="CartPole-v1", policy_kwargs={"net_arch": [16]}, **given)
    assert isinstance(run, Run)
    of_run = run.wait(300).hyperparameters
    resolved = {"num_envs": 8, "n_steps": 32, "batch_size": 256, "learning_rate": 0.001, "gae_lambda": 0.8}
    assert resolved.items() <= of_run.items(), run.log()
    assert (of_run["learning_rate_schedule"], of_run["clip_range_schedule"]) == ("linear", "linear")
    assert (of_run["n_epochs"], of_run["net_arch"], of_run["policy_kwargs"]) == (1, [16], {})
    assert run.checkpoints


def test_a_grid_is_seen_by_a_small_convolutional_network(tmp_path: Path, start_comparison: Compare) -> None:
    lab = Lab(tmp_path / "runs")
    given: dict[str, Any] = {"algorithm": "ppo", "env": GRID, "total_timesteps": 64, "n_steps": 64}
    given |= {"wrappers": ["one_hot", "image"], "policy": "CnnPolicy", "batch_size": 32}
    for kwargs, why in (
        ({"features_extractor_clas": "SmallCnn"}, "no 'features_extractor_clas'; did you mean 'features_"),
        ({"features_extractor_class": "SmalCnn"}, "_class 'SmalCnn'; did you mean 'SmallCnn'"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            lab.train("sb3", policy_kwargs=kwargs, **given)
    run = lab.train("sb3", policy_kwargs={"features_extractor_kwargs": {"features_dim": 32}}, **given)
    assert isinstance(run, Run)
    comparison = start_comparison(GRID, {"PPO": operators.rl(run.wait(300))}, [1])
    comparison.step(2)
    assert len(comparison.steps("PPO")) == 2
