"""Checkpoints contain all that inference and resuming need, for scripts that save none themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from shim_kit.optimizers import learning_rates

COMPARE = """
import json, sys, torch
a, b = (torch.load(path, weights_only=True) for path in sys.argv[1:])
weights = max(
    float((b["modules"][m][k] - a["modules"][m][k]).abs().max())
    for m in b["modules"] if m in a["modules"] for k in b["modules"][m]
)
steps = [max(float(p["step"]) for o in c["optimizers"].values() for p in o["state"].values()) for c in (a, b)]
print(json.dumps({"weights": weights, "optimizer steps": steps[1] - steps[0]}))
"""
"""Prints the largest weight change between two checkpoints, and the optimizer steps between them."""


def test_they_are_saved_periodically_and_at_the_end(finished: Any) -> None:
    (started,) = finished.events("run_started")
    config, saved = started["config"], finished.events("checkpoint_saved")
    steps = [checkpoint["step"] for checkpoint in saved]
    assert steps[-1] == config["steps"]
    assert len(steps) >= 2
    assert steps == sorted(set(steps))
    if config["algorithm"] not in ("ppo", "ppo_continuous"):  # PPO's are complete only between rollouts
        assert steps == [config["checkpoint_every"] * (i + 1) for i in range(10)]
    assert {checkpoint["format"] for checkpoint in saved} == {"torch"}


def test_each_describes_itself(finished: Any) -> None:
    (started,) = finished.events("run_started")
    for path in finished.checkpoints:
        described = json.loads(path.with_suffix(".json").read_text())
        assert described["env_id"] == started["env_id"]
        assert described["algorithm"] == started["algo"]
        assert described["hyperparameters"] == started["config"]["hyperparameters"]
        assert described["upstream"] == started["config"]["upstream"]
        assert path.name == f"step-{described['step']:012d}.pt"


def test_observation_statistics_are_those_of_the_training(worker: Any) -> None:
    run = worker.trained("ppo_continuous")
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    statistics = described["preprocessing"]["normalise"]
    assert statistics["count"] >= 1024  # every observation of both environments
    assert all(0.05 < variance < 50 for variance in statistics["var"])
    assert len(statistics["mean"]) == 3
    assert described["preprocessing"]["clip_action"] is True
    assert json.loads(worker.trained("ppo").checkpoints[-1].with_suffix(".json").read_text())[
        "preprocessing"
    ] == {"flatten": False, "one_hot": None, "normalise": None, "clip_action": False}


@pytest.mark.parametrize("algorithm", ["ppo_continuous", pytest.param("sac", marks=pytest.mark.extended)])
def test_a_run_resumes_where_the_checkpoint_was(worker: Any, algorithm: str) -> None:
    before = worker.trained(algorithm)
    small = worker.small[algorithm]
    total = 2 * small["total_timesteps"]
    checkpoint = before.checkpoints[-1]
    config = {"env_id": small["env_id"], "algorithm": algorithm, "total_timesteps": total}
    run = worker.resume(checkpoint, **config)

    steps = [metrics["step"] for metrics in run.events("metrics")]
    assert min(steps) >= small["total_timesteps"]
    assert max(steps) == total
    assert run.episodes
    differences = worker.output_of("-c", COMPARE, str(checkpoint), str(run.checkpoints[-1]))
    assert differences["weights"] > 0
    assert differences["optimizer steps"] > 0  # the count continues, not restarts
    if algorithm == "ppo_continuous":
        counts = [
            json.loads(path.with_suffix(".json").read_text())["preprocessing"]["normalise"]["count"]
            for path in (checkpoint, run.checkpoints[-1])
        ]
        assert counts[1] - counts[0] == pytest.approx(total / 2, abs=30)


def test_a_resumed_run_has_the_checkpoints_hyperparameters(worker: Any) -> None:
    """Values that are not given come from the checkpoint; those that define the step count cannot change."""
    checkpoint = worker.trained("ppo_continuous").checkpoints[-1]
    small = worker.small["ppo_continuous"]
    config = {
        "algorithm": "ppo_continuous",
        "env_id": small["env_id"],
        "total_timesteps": 2 * small["total_timesteps"],
        "checkpoint": {"resume_from": str(checkpoint)},
    }
    resolved = worker.resolved(**config, learning_rate=1e-3, num_envs=2)
    saved = json.loads(checkpoint.with_suffix(".json").read_text())["hyperparameters"]
    assert resolved["hyperparameters"] == {**saved, "learning_rate": 1e-3}
    message = worker.error(**config, num_envs=4, num_steps=128)
    assert "trained with num_envs=2, which it is bound to; this run has num_envs=4" in message
    assert "trained with num_steps=256" in message


@pytest.mark.parametrize("anneal", [pytest.param(False, marks=pytest.mark.extended), True])
def test_a_segment_ends_where_it_is_to_and_trains_with_what_was_changed(worker: Any, anneal: bool) -> None:
    """The given learning rate is annealed over the entire training, not over the segment."""
    run = worker.resume(
        worker.trained("ppo").checkpoints[-1],
        env_id="CartPole-v1",
        algorithm="ppo",
        total_timesteps=8192,
        stop_at=2600,
        learning_rate=1e-3,
        anneal_lr=anneal,
    )
    assert run.events("run_completed")
    assert run.checkpoints[-1].name == "step-000000003072.pt", "after the rollout that reaches step 2600"
    rate = 1e-3 * (1 - 6 / 16) if anneal else 1e-3  # of the next update, 7 of 16
    assert learning_rates(run.checkpoints[-1]) == pytest.approx([rate])


@pytest.mark.extended
def test_the_learning_rate_of_an_off_policy_algorithm_can_be_changed_too(worker: Any) -> None:
    small = worker.small["dqn"]
    steps = small["total_timesteps"]
    resumed = {"env_id": small["env_id"], "total_timesteps": 10_000, "learning_rate": 7e-4}
    checkpoint = worker.trained("dqn").checkpoints[-1]
    run = worker.resume(checkpoint, algorithm="dqn", **resumed, stop_at=steps + 300)
    assert run.checkpoints[-1].name == f"step-{steps + 300:012d}.pt"
    assert learning_rates(run.checkpoints[-1]) == [7e-4]


def test_a_checkpoint_of_another_training_is_refused(worker: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("ppo").checkpoints[-1]

    def refused(algorithm: str, env_id: str, path: Path = checkpoint, steps: int = 10_000) -> str:
        resume = {"resume_from": str(path)}
        return str(worker.error(algorithm=algorithm, env_id=env_id, total_timesteps=steps, checkpoint=resume))

    assert "is of ppo on CartPole-v1" in refused("dqn", "CartPole-v1")
    message = refused("ppo", "Acrobot-v1")
    assert "is of ppo on CartPole-v1, this run is of ppo on Acrobot-v1: observations are Box(6)" in message
    assert "saved at step 2048" in refused("ppo", "CartPole-v1", steps=2048)
    message = refused("ppo", "CartPole-v1", steps=2500)
    assert "is at step 2,048 of 2,500: less than one rollout (num_envs × num_steps = 512 steps)" in message
    assert "there is no checkpoint" in refused("ppo", "CartPole-v1", tmp_path / "none.pt")
    other = tmp_path / checkpoint.name
    shutil.copy(checkpoint, other)
    described = json.loads(checkpoint.with_suffix(".json").read_text())
    other.with_suffix(".json").write_text(json.dumps({**described, "legacy": not worker.legacy}))
    kinds = ["current upstream", "the release of 2021"]
    saved, here = kinds if worker.legacy else reversed(kinds)
    assert f"was saved with {saved}, this run trains with {here}" in refused("ppo", "CartPole-v1", other)
    other.write_bytes(b"")
    assert f"{other} cannot be loaded: it is empty" in refused("ppo", "CartPole-v1", other)
