"""Every algorithm on every kind of action: trained, acting from its checkpoint, resumed; as a table.

Outside of the test suite: `PYTHONPATH=tests python workers/sb3_worker/tests/matrix.py`. Prints the table,
and exits with 1 where something of it failed.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
from operators.conversation import Conversation
from shim_kit.matrix import chosen, losses, print_table, train, train_and_resume

from mosaic_lab import workers

BOTH, VALUE, CONTINUOUS = (
    ("ppo", "a2c", "trpo", "recurrent_ppo"),
    ("dqn", "qrdqn"),
    ("sac", "td3", "ddpg", "tqc"),
)
CARTPOLE, PENDULUM, WALK = "CartPole-v1", "Pendulum-v1", "masked_walk:MaskedWalk-v0"
SIZES = {CARTPOLE: 4, PENDULUM: 3, WALK: 1}
STEPS = 2000
CASES = [
    *(f"{name} {env_id}" for name in BOTH for env_id in (CARTPOLE, PENDULUM)),
    *(f"{name} {CARTPOLE}" for name in VALUE),
    *(f"{name} {PENDULUM}" for name in CONTINUOUS),
    f"maskable_ppo {WALK}",
    *(f"ars {env_id}" for env_id in (CARTPOLE, PENDULUM)),
]


def main() -> int:
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    command = [str(workers.ensure("sb3").python), "-m", "sb3_worker.cli"]
    with Conversation(command) as operators:

        def row(name: str, folder: Path) -> list[object]:
            algorithm, env_id = name.split()
            config = {"algorithm": algorithm, "env_id": env_id, "total_timesteps": STEPS}
            run = train_and_resume(
                partial(train, command, 300),
                lambda path: acts(operators, path, env_id),
                folder,
                config,
                beyond_last=True,
            )
            return [f"{run.seconds:.0f}", losses(run.messages), run.outcome]

        columns = ("algorithm, environment", "seconds", "losses", "acts", "resumed")
        return print_table(columns, chosen(CASES), row)


def acts(operators: Conversation, checkpoint: str, env_id: str) -> None:
    """Check the best and a sampled action. Raises `ValueError` for one outside the action space."""
    for deterministic in (True, False):
        settings = {"checkpoint": checkpoint, "deterministic": deterministic}
        made = operators.ask("init_agent", player_id="agent_0", seed=1, settings=settings)
        if made["type"] != "agent_ready":
            raise ValueError(made["message"])
        action = np.asarray(operators.act(np.zeros(SIZES[env_id], np.float32))["action"])
        if not (action.shape == (1,) and abs(action[0]) <= 2 if env_id == PENDULUM else action in range(4)):
            raise ValueError(f"{action} is not an action of {env_id}")


if __name__ == "__main__":
    sys.exit(main())
