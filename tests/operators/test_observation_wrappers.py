"""Policies trained through wrappers, acting in an environment without them.

The arena sends the environment's own observations; the worker applies the wrappers recorded in the
checkpoint, so the policy acts as the network does in the process that trained it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arenas.comparison_fixtures import Compare
from support import PEERS

from mosaic_lab import Lab, operators, workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.kernel_policy import Policy
from mosaic_lab.runs import Run

ENV = "BabyAI-GoToRedBallNoDists-v0"
WRAPPERS = ["one_hot", "flat"]
ALONE = PEERS / "wrapped_policy.py"
TINY: dict[str, dict[str, Any]] = {
    "cleanrl": {"num_envs": 2, "num_steps": 64, "total_timesteps": 256},
    "tianshou": {"num_training_envs": 2, "collection_step_num_env_steps": 128, "total_timesteps": 256},
}
SEED, STEPS = 5, 12


@pytest.mark.extended
@pytest.mark.parametrize("worker", ["cleanrl", "tianshou"])
def test_a_policy_acts_in_an_arena_as_in_its_training(
    worker: str, tmp_path: Path, start_comparison: Compare
) -> None:
    lab = Lab(tmp_path / "runs")

    def train(env: str = ENV, **changes: Any) -> Run:
        run = lab.train(worker, algorithm="ppo", env=env, **{**TINY[worker], **changes})
        assert isinstance(run, Run)
        return run

    run = train(wrappers=WRAPPERS).wait()
    policy = operators.rl(run)
    assert policy.wrappers == tuple(WRAPPERS)
    assert "wrappers one_hot, flat" in repr(policy)
    comparison = start_comparison(ENV, {"PPO": policy}, [SEED])
    assert comparison.view()["environment"] == ENV  # no training worker made it
    comparison.step(STEPS)
    played = comparison.steps("PPO")["action"].tolist()
    assert len(played) == STEPS
    python = workers.ensure(worker).python
    command = [str(python), str(ALONE), str(run.checkpoints[-1].path), str(SEED), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert played == json.loads(done.stdout.splitlines()[-1])

    with pytest.raises(ConfigurationError, match="trained for Dict"):
        start_comparison("CartPole-v1", {"PPO": policy})
    with pytest.raises(ConfigurationError, match="bound to; this run has wrappers="):
        train(resume_from=run, total_timesteps=512, wrappers=["flat"])
    resumed = train(resume_from=run, total_timesteps=512).wait()
    assert operators.rl(resumed).wrappers == tuple(WRAPPERS)


def test_a_worker_that_takes_no_wrappers_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="takes no wrappers"):
        Lab(tmp_path).train("script", command=["true"], wrappers=["flat"])


OWN = """
import gymnasium

class Times(gymnasium.ObservationWrapper):
    def __init__(self, env, factor=2.0):
        super().__init__(env)
        self._factor = factor
        self.observation_space = gymnasium.spaces.Box(-100.0, 100.0, env.observation_space.shape)

    def observation(self, observation):
        return self._factor * observation
"""
SMALL: dict[str, dict[str, Any]] = {
    "sb3": {"num_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1},
    "cleanrl": {"num_envs": 2, "num_steps": 32},
    "tianshou": {"num_training_envs": 2, "collection_step_num_env_steps": 64},
    "xuance": {"parallels": 2, "horizon_size": 32, "n_epochs": 1},
    "rllib": {"num_env_runners": 0, "train_batch_size_per_learner": 64, "minibatch_size": 32},
}


@pytest.mark.parametrize(
    "worker", [name if name == "sb3" else pytest.param(name, marks=pytest.mark.extended) for name in SMALL]
)
def test_wrappers_with_parameters_statistics_and_code_are_recorded_and_played(
    worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_comparison: Compare
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    lab = Lab(tmp_path / "runs")
    wrappers: list[Any] = [
        {"own.py:Times": {"factor": 3.0}}, "normalize_observation", {"frame_stack": 2}, "flat",
        {"rescale_action": [-1, 1]}, {"time_limit": 20}, "normalize_reward",
    ]  # fmt: skip
    if worker == "rllib":
        with pytest.raises(ConfigurationError, match="would report the normalized rewards as returns"):
            lab.train(worker, algorithm="ppo", env="Pendulum-v1", total_timesteps=9, wrappers=wrappers)
        del wrappers[-1]

    def train(total_timesteps: int, **changes: Any) -> Run:
        arguments = {"algorithm": "ppo", "env": "Pendulum-v1", "total_timesteps": total_timesteps}
        return lab.train(worker, **{**arguments, **SMALL[worker], **changes}).wait(300)

    run = train(128, wrappers=wrappers)
    assert set(run.episodes()["steps"]) <= {20, 21}, run.log()  # 21: RLlib also counts the reset
    assert run.episodes()["total_reward"].max() < -10, "returns are of the environment's own rewards"
    with pytest.raises(ConfigurationError, match=r"through .*own.py:Times, code that .*run_code=True"):
        operators.rl(run)
    policy = operators.rl(run, run_code=True)
    assert "frame_stack(2), flat, rescale_action(-1, 1), time_limit(20)" in repr(policy)
    comparison = start_comparison("Pendulum-v1", {"PPO": policy}, [1])
    comparison.step(3)
    assert len(comparison.steps("PPO")) == 3
    with run.policy(run_code=True) as in_kernel:
        check_stacked(in_kernel)

    def count(of: Run) -> float:
        described = json.loads(of.checkpoints[-1].path.with_suffix(".json").read_text())
        return float(described["wrapper_statistics"]["normalize_observation"]["count"])

    first = count(run)
    assert first > 128
    assert count(train(192, resume_from=run)) > first + 64


def check_stacked(policy: Policy) -> None:
    """Assert that a policy with a frame stack of two stacks an episode's second observation on its first."""
    seen = np.random.default_rng(4).uniform(-1, 1, (5, 3)).astype(np.float32)
    actions, values = policy(seen), policy.value(seen)
    np.testing.assert_allclose(policy.value(seen[1]), values[1], atol=1e-4)
    np.testing.assert_allclose(policy(seen[0]), actions[0], atol=1e-5)
    stacked = policy.value(seen[1])
    assert abs(stacked - values[1]) > 1e-5
    assert policy.value(seen[1]) == stacked, "querying the value does not advance the episode"
    policy(seen[1])
    policy.reset()
    np.testing.assert_allclose(policy.value(seen[1]), values[1], atol=1e-4)
