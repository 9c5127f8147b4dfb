"""Every algorithm on every kind of actions and on teams: trained, acting from its checkpoint, resumed.

Not a test: `PYTHON workers/ray_worker/tests/matrix.py [NAME ...]`, with the interpreter of the worker's
environment (`mosaic-lab workers list rllib` shows where it is), prints a table. Each training is the worker's
own command line with a Ray of its own, in a process of its own; MATRIX_GIVEN='{"address": "host:port"}' has
them join a cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from mosaic_contract import AgentSetup
from mosaic_contract.checkpoints import read_description, spaces_of
from ray_worker import operator
from ray_worker.algorithms import ALGORITHMS
from ray_worker.config import FORMAT

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


def train(folder: Path, **config: Any) -> tuple[list[dict[str, Any]], float]:
    """The messages of a training, and its seconds."""
    folder.mkdir(parents=True)
    file = folder / "config.json"
    file.write_text(json.dumps({"run_id": folder.name, "seed": 1, **config}))
    began = time.monotonic()
    command = [sys.executable, "-m", "ray_worker.cli", "--config", str(file)]
    address = {"OMP_NUM_THREADS": "1", **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=address)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}\n{done.stderr[-1500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()], time.monotonic() - began


def acts(checkpoint: str) -> None:
    """One action of every agent, the best and a drawn one, all within their spaces. Raises `ValueError`."""
    _, described = read_description(checkpoint, FORMAT, ALGORITHMS)
    for agent in spaces_of(described):
        for deterministic in (True, False):
            setup = AgentSetup(agent, settings={"checkpoint": checkpoint, "deterministic": deterministic})
            acting = operator.operate(setup)
            action = acting.select_action([0.0] * acting.shape[0])
            if not acting.space.contains(action):
                raise ValueError(f"{agent}: {action!r} is not in {acting.space}")


def check(name: str, folder: Path) -> str:
    """One row of the table."""
    given = json.loads(os.environ.get("MATRIX_GIVEN", "{}"))
    config = {"algorithm": name.split()[0], "total_timesteps": STEPS, **CASES[name], **given}
    messages, seconds = train(folder / "first", **config)
    last = [m["payload"] for m in messages if m.get("event") == "checkpoint_saved"][-1]
    final = messages[-1]["payload"]["final_metrics"]
    acts(last["checkpoint_path"])
    more = {
        **config,
        "total_timesteps": last["step"] + STEPS,
        "checkpoint": {"resume_from": last["checkpoint_path"]},
    }
    resumed, _ = train(folder / "second", **more)
    saved = [m["payload"]["step"] for m in resumed if m.get("event") == "checkpoint_saved"][-1]
    losses = sorted({key.split("/")[-1] for key in final if key.endswith("loss")})
    return f"| {name} | {config['env_id']} | {seconds:.0f} | {', '.join(losses)} | yes | to step {saved} |"


def run(names: list[str]) -> int:
    failed = 0
    print("| algorithm | world | s | losses seen | checkpoint acts | resumed |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CASES:
            try:
                print(check(name, Path(folder, name.replace(" ", "-"))), flush=True)
            except Exception:
                failed += 1
                print(f"| {name} | FAILED |\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
