"""Train, resume and act from a checkpoint: every algorithm on every kind of action space and on teams.

Not a test: `PYTHON workers/ray_worker/tests/matrix.py [NAME ...]`, with the interpreter of the worker's
environment (`mosaic-lab workers list rllib` shows where it is), prints a table. Each training runs the
worker's command line in its own process with its own Ray; MATRIX_GIVEN='{"address": "host:port"}' makes the
trainings join a cluster.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from mosaic_contract import AgentSetup
from mosaic_contract.checkpoints import read_description, spaces_of
from ray_worker import operator
from ray_worker.algorithms import ALGORITHMS
from ray_worker.config import RllibPlan
from shim_kit.matrix import chosen, losses, print_table, train, train_and_resume

CART, PENDULUM, SPREAD, TAG = "CartPole-v1", "Pendulum-v1", "simple_spread_v3", "simple_tag_v3"
ON_POLICY = {"train_batch_size_per_learner": 200, "num_env_runners": 1, "fcnet_hiddens": [32]}
OFF_POLICY = {
    "num_steps_sampled_before_learning_starts": 200,
    "train_batch_size_per_learner": 32,
    "fcnet_hiddens": [32],
}
WAITING = {**ON_POLICY, "min_time_s_per_iteration": 8.0}
CASES: dict[str, dict[str, Any]] = {
    "ppo": {"env_id": CART, **ON_POLICY},
    "ppo continuous": {"env_id": PENDULUM, **ON_POLICY},
    "ppo recurrent": {"env_id": CART, **ON_POLICY, "use_lstm": True},
    "ppo team": {"env_id": SPREAD, **ON_POLICY},
    "ppo mixed": {"env_id": TAG, **ON_POLICY, "policies": "each"},
    "impala": {"env_id": CART, **WAITING},
    "impala continuous": {"env_id": PENDULUM, **WAITING},
    "impala team": {"env_id": SPREAD, **WAITING},
    "appo": {"env_id": CART, **WAITING},
    "appo continuous": {"env_id": PENDULUM, **WAITING},
    "appo team": {"env_id": SPREAD, **WAITING},
    "dqn": {"env_id": CART, **OFF_POLICY},
    "dqn team": {"env_id": SPREAD, **OFF_POLICY},
    "sac": {"env_id": PENDULUM, **OFF_POLICY},
    "sac discrete": {"env_id": CART, **OFF_POLICY},
    "sac team": {"env_id": SPREAD, **OFF_POLICY, "env_config": {"continuous_actions": True}},
}
STEPS = 500
SECONDS = 600.0


def acts(checkpoint: str) -> None:
    """Check the best and a sampled action of every agent. Raises `ValueError` for one outside its space."""
    _, described = read_description(checkpoint, RllibPlan.FORMAT, ALGORITHMS)
    for agent in spaces_of(described):
        for deterministic in (True, False):
            setup = AgentSetup(agent, settings={"checkpoint": checkpoint, "deterministic": deterministic})
            acting = operator.operate(setup)
            action = acting.select_action([0.0] * acting.shape[0])
            if not acting.space.contains(action):
                raise ValueError(f"{agent}: {action!r} is not in {acting.space}")


def row(name: str, folder: Path) -> list[object]:
    given = json.loads(os.environ.get("MATRIX_GIVEN", "{}"))
    config = {"algorithm": name.split()[0], "total_timesteps": STEPS, **CASES[name], **given}
    command = [sys.executable, "-m", "ray_worker.cli"]
    run = train_and_resume(partial(train, command, SECONDS), acts, folder, config, beyond_last=True)
    return [config["env_id"], f"{run.seconds:.0f}", losses(run.messages), run.outcome]


if __name__ == "__main__":
    columns = ("algorithm", "environment", "s", "losses seen", "checkpoint acts", "resumed")
    sys.exit(print_table(columns, chosen(CASES), row))
