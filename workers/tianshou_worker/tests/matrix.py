"""Train, resume and act from a checkpoint: every algorithm on every kind of action space, as a table.

Offline algorithms learn from the recordings of the off-policy ones.

Not a test: `PYTHONPATH=tests python workers/tianshou_worker/tests/matrix.py`. Prints the table of the
worker's README; exits with 1 if a row has failed.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from operators.conversation import Conversation
from shim_kit.matrix import Messages, chosen, metric_names, print_table, train, train_and_resume

from mosaic_lab import workers

VALUE, BOTH = ["dqn", "c51", "rainbow", "iqn", "qrdqn"], ["ppo", "a2c", "trpo", "npg"]
CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
STEPS = 2000
RECORDING = {"save_buffer": True}
DATASET = "../../{}/first/dataset.hdf5"
OFFLINE = {"total_timesteps": 500, "epoch_num_steps": 250, "test_step_num_episodes": 2}
_CASES = [
    *((name, CARTPOLE, RECORDING) for name in VALUE),
    *((name, env, {"collection_step_num_env_steps": 500}) for name in BOTH for env in (CARTPOLE, PENDULUM)),
    *((name, PENDULUM, RECORDING) for name in ("ddpg", "td3", "sac")),
    ("redq", PENDULUM, {**RECORDING, "update_step_num_gradient_steps_per_sample": 0.25}),
    ("gail", PENDULUM, {"collection_step_num_env_steps": 500, "dataset": DATASET.format("sac-Pendulum-v1")}),
    *(
        (name, PENDULUM, {**OFFLINE, "dataset": DATASET.format("td3-Pendulum-v1")})
        for name in ("il", "bcq", "cql")
    ),
    ("il", CARTPOLE, {**OFFLINE, "dataset": DATASET.format("dqn-CartPole-v1")}),
    ("discrete_bcq", CARTPOLE, {**OFFLINE, "dataset": DATASET.format("rainbow-CartPole-v1")}),
    ("discrete_cql", CARTPOLE, {**OFFLINE, "dataset": DATASET.format("dqn-CartPole-v1")}),
]
CASES = {f"{name} {env_id}": more for name, env_id, more in _CASES}


def main() -> int:
    command = [str(workers.ensure("tianshou").python), "-m", "tianshou_worker.cli"]
    with Conversation(command) as operators:

        def row(name: str, folder: Path) -> list[object]:
            algorithm, env_id = name.split()
            config = {"algorithm": algorithm, "env_id": env_id, "total_timesteps": STEPS, **CASES[name]}
            run = train_and_resume(
                partial(train, command, 300), lambda path: acts(operators, path, env_id), folder, config
            )
            if not update_losses(run.resumed):
                raise ValueError("nothing was learned after the resume")
            return [f"{run.seconds:.0f}", ", ".join(sorted(update_losses(run.messages))), run.outcome]

        columns = ("algorithm, environment", "seconds", "losses", "acts", "resumed")
        return print_table(columns, chosen(CASES), row)


def update_losses(messages: Messages) -> set[str]:
    """Return upstream's loss names, without further statistics of the same loss."""
    found = set()
    for name in metric_names(messages):
        parts = name.split("/")
        if parts[0] == "update" and "loss" in parts[1] and parts[1] != "smoothed_loss":
            found |= {parts[1]} if parts[-1] in ("mean", parts[1]) else set()
    return found


def acts(operators: Conversation, checkpoint: str, env_id: str) -> None:
    """Check the best and a sampled action. Raises `ValueError` for one outside the action space."""
    for deterministic in (True, False):
        settings = {"checkpoint": checkpoint, "deterministic": deterministic}
        made = operators.ask("init_agent", player_id="agent_0", seed=1, settings=settings)
        if made["type"] != "agent_ready":
            raise ValueError(made["message"])
        seen = np.zeros(4 if env_id == CARTPOLE else 3, np.float32)
        action = np.asarray(operators.act(seen)["action"])
        if not (action in (0, 1) if env_id == CARTPOLE else action.shape == (1,) and abs(action[0]) <= 2):
            raise ValueError(f"{action} is not an action of {env_id}")


if __name__ == "__main__":
    sys.exit(main())
