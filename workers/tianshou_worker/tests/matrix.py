"""Every algorithm on every kind of action: trained, acting from its checkpoint, resumed; as a table.

What off-policy algorithms record is what the offline ones learn from.

Outside of the test suite: `PYTHONPATH=tests python workers/tianshou_worker/tests/matrix.py`. Prints the table
of the worker's README, and exits with 1 where something of it failed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from mosaic_contract.conformance.observed_process import Trial
from operators.conversation import Conversation

from mosaic_lab import workers

VALUE, BOTH = ["dqn", "c51", "rainbow", "iqn", "qrdqn"], ["ppo", "a2c", "trpo", "npg"]
CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
STEPS = 2000
RECORDING = {"save_buffer": True}
OFFLINE = {"total_timesteps": 500, "epoch_num_steps": 250, "test_step_num_episodes": 2}
CASES = [
    *((name, CARTPOLE, RECORDING) for name in VALUE),
    *((name, env, {"collection_step_num_env_steps": 500}) for name in BOTH for env in (CARTPOLE, PENDULUM)),
    *((name, PENDULUM, RECORDING) for name in ("ddpg", "td3", "sac")),
    ("redq", PENDULUM, {**RECORDING, "update_step_num_gradient_steps_per_sample": 0.25}),
    ("gail", PENDULUM, {"collection_step_num_env_steps": 500, "dataset": "../sac-Pendulum-v1/dataset.hdf5"}),
    *((name, PENDULUM, {**OFFLINE, "dataset": "../td3-Pendulum-v1/dataset.hdf5"}) for name in ("bcq", "cql")),
    ("discrete_bcq", CARTPOLE, {**OFFLINE, "dataset": "../rainbow-CartPole-v1/dataset.hdf5"}),
    ("discrete_cql", CARTPOLE, {**OFFLINE, "dataset": "../dqn-CartPole-v1/dataset.hdf5"}),
]


def main() -> int:
    python = str(workers.ensure("tianshou").python)
    print("| algorithm | environment | seconds | losses | acts | resumed |\n|---|---|---|---|---|---|")
    failed = 0
    with (
        Conversation([python, "-m", "tianshou_worker.cli"]) as operators,
        tempfile.TemporaryDirectory() as runs,
    ):
        for algorithm, env_id, more in CASES:
            config = {"algorithm": algorithm, "env_id": env_id, "seed": 1, "total_timesteps": STEPS, **more}
            folder = Path(runs, f"{algorithm}-{env_id}")
            try:
                told = " | ".join(case(python, operators, folder, config))
            except Exception:
                failed += 1
                told = f"FAILED |\n{traceback.format_exc()}"
            print(f"| `{algorithm}` | {env_id} | {told} |", flush=True)
    return 1 if failed else 0


def case(python: str, operators: Conversation, folder: Path, config: dict[str, Any]) -> list[str]:
    """What the table says of one training."""
    began = time.monotonic()
    messages = train(python, folder, config)
    took = time.monotonic() - began
    last = saved(messages)[-1]["checkpoint_path"]
    acts(operators, last, config["env_id"])
    longer = {**config, "total_timesteps": 2 * config["total_timesteps"]}
    on = {**longer, "checkpoint": {"resume_from": last}}
    resumed = train(python, folder.with_name(f"{folder.name}-resumed"), on)
    if not set(losses(resumed)):
        raise ValueError("nothing was learned after the resume")
    told = ", ".join(sorted(losses(messages)))
    return [f"{took:.0f}", told, "yes", f"to step {saved(resumed)[-1]['step']}"]


def train(python: str, folder: Path, config: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a training in a new folder."""
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    with Trial([python, "-m", "tianshou_worker.cli", "--config", str(path)], folder) as trial:
        trial.wait(300)
        if trial.code != 0:
            raise RuntimeError(f"{trial.ending}: {trial.log_tail()}")
        return trial.messages()


def saved(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was told of each checkpoint."""
    return [m["payload"] for m in messages if m.get("event") == "checkpoint_saved"]


def losses(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Names of upstream's that tell of an update, but for statistics of the same."""
    for name in {name for m in messages if m.get("event") == "metrics" for name in m["payload"]["values"]}:
        parts = name.split("/")
        if parts[0] == "update" and "loss" in parts[1] and parts[1] != "smoothed_loss":
            yield from {parts[1]} if parts[-1] in ("mean", parts[1]) else ()


def acts(operators: Conversation, checkpoint: str, env_id: str) -> None:
    """An action, the best and a drawn one. Raises `ValueError` for one that is not in the action space."""
    for deterministic in (True, False):
        settings = {"checkpoint": checkpoint, "deterministic": deterministic}
        made = operators.ask("init_agent", player_id="agent_0", seed=1, settings=settings)
        if made["type"] != "agent_ready":
            raise ValueError(made["message"])
        seen = np.zeros(4 if env_id == CARTPOLE else 3, np.float32)
        action = np.asarray(operators.act(seen)["action"])
        if not (action in (0, 1) if env_id == CARTPOLE else action.shape == (1,) and abs(action[0]) <= 2):
            raise ValueError(f"{action} is no action of {env_id}")


if __name__ == "__main__":
    sys.exit(main())
