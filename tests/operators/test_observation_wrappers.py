"""Training on BabyAI through observation wrappers, and acting where nothing is wrapped.

A policy gets its observations from an arena as the environment makes them, and its worker applies what the
checkpoint says: the same action as the network gives in the process that trained it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare, start_comparison  # noqa: F401
from support import PEERS

from mosaic_lab import Lab, operators, workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run

ENV = "BabyAI-GoToRedBallNoDists-v0"
WRAPPERS = ["one_hot", "flat"]
ALONE = PEERS / "wrapped_policy.py"
TINY: dict[str, dict[str, Any]] = {
    "cleanrl": {"num_envs": 2, "num_steps": 64, "total_timesteps": 256},
    "tianshou": {"num_training_envs": 2, "collection_step_num_env_steps": 128, "total_timesteps": 256},
}
SEED, STEPS = 5, 12


@pytest.mark.parametrize("worker", ["cleanrl", pytest.param("tianshou", marks=pytest.mark.extended)])
def test_a_policy_acts_in_an_arena_as_in_its_training(
    worker: str,
    tmp_path: Path,
    start_comparison: Compare,  # noqa: F811
) -> None:
    lab = Lab(tmp_path / "runs")

    def train(env: str = ENV, **changes: Any) -> Run:
        run = lab.train(worker, algorithm="ppo", env=env, **{**TINY[worker], **changes})
        assert isinstance(run, Run)
        return run

    with pytest.raises(ConfigurationError, match=r"wrappers= makes vectors of them: \['one_hot', 'flat'\]"):
        train()
    with pytest.raises(ConfigurationError, match="must be a list of names"):
        train(wrappers="flat")

    run = train(wrappers=WRAPPERS).wait()
    policy = operators.rl(run)
    assert policy.wrappers == tuple(WRAPPERS)
    assert "wrappers one_hot, flat" in repr(policy)
    comparison = start_comparison(ENV, {"PPO": policy}, [SEED])
    assert comparison.view()["environment"] == ENV  # made by no training worker
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
    with pytest.raises(ConfigurationError, match="takes no observation wrappers"):
        Lab(tmp_path).train("script", command=["true"], wrappers=["flat"])
