"""Convolutional networks for small images: they train, and act from their checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mosaic_lab import ConfigurationError, Lab, operators
from mosaic_lab.runs import Run

GRID = "MiniGrid-Empty-5x5-v0"
RLLIB: dict[str, Any] = {"num_env_runners": 0, "train_batch_size_per_learner": 200, "total_timesteps": 200}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("worker", "given", "resolved"),
    [
        (
            "tianshou",
            {"algorithm": "rainbow", "wrappers": ["one_hot", "image"], "start_timesteps": 64}
            | {"total_timesteps": 96},
            {"hidden_sizes": [128] * 4},
        ),
        (
            "xuance",
            {"algorithm": "ppo", "wrappers": ["image"], "total_timesteps": 1024},
            {"kernels": [3, 3], "filters": [32, 64], "strides": [1, 1]},
        ),
        (
            "rllib",
            {"algorithm": "ppo", "wrappers": ["one_hot", "image"], "use_lstm": True, **RLLIB},
            {"conv_filters": [[32, 3, 1], [64, 3, 1]]},
        ),
    ],
)  # fmt: skip
def test_a_grid_is_seen_by_convolutions(
    tmp_path: Path, worker: str, given: dict[str, Any], resolved: dict[str, Any]
) -> None:
    lab = Lab(tmp_path / "runs")
    run = lab.train(worker, env=GRID, seed=1, **given)
    assert isinstance(run, Run)
    run.wait(400)
    assert resolved.items() <= run.hyperparameters.items(), run.log()
    played = lab.evaluate(env=GRID, operators={"P": operators.rl(run)}, seeds=[1, 2], max_steps=10).wait(300)
    assert len(played.episodes()) == 2


@pytest.mark.extended
def test_a_team_with_images_learns_by_one_convolutional_policy(tmp_path: Path) -> None:
    env = "MosaicMultiGrid-S-2v2-IndAgObs-v1"
    run = Lab(tmp_path / "runs").train("rllib", algorithm="ppo", env=env, wrappers=["image"], **RLLIB)
    assert isinstance(run, Run)
    run.wait(400)
    assert run.hyperparameters["conv_filters"] == [[32, 3, 1], [64, 3, 1]]
    assert run.checkpoints


def test_images_without_convolutions_are_refused_with_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"images of 50×50×3, .* give conv_filters"):
        Lab(tmp_path / "runs").train(
            "rllib", algorithm="ppo", env="CarRacing-v3", wrappers=[{"resize": [50, 50]}], **RLLIB
        )


@pytest.mark.extended
def test_a_one_hot_image_is_refused_with_the_wrappers_that_help(tmp_path: Path) -> None:
    helping = r"\['one_hot', 'flat'\] or \['flat'\]; \['image'\] makes images for its convolutions"
    with pytest.raises(ConfigurationError, match=helping):
        Lab(tmp_path / "runs").train(
            "xuance", algorithm="ppo", env=GRID, wrappers=["one_hot", "image"], total_timesteps=4096
        )
