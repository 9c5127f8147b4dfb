"""Train, resume and act from a checkpoint: every algorithm on every kind of action space, as a table.

`PYTHON workers/xuance_worker/tests/matrix.py [NAME ...]`, with the interpreter of the worker's
environment (`mosaic-lab workers list xuance` shows where it is). Each training runs the worker's command
line in its own process, forked from one that has already imported upstream.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.update(TQDM_DELAY="1e9", WANDB_MODE="disabled", OMP_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

import numpy as np
from mosaic_contract import AgentSetup, main
from mosaic_contract.checkpoints import read_description, spaces_of
from shim_kit.matrix import Messages, chosen, losses, metric_names, print_table, train_and_resume
from xuance_worker import operator, runtime  # noqa: F401  (imports upstream before anything forks)
from xuance_worker.algorithms import ALGORITHMS
from xuance_worker.cli import WORKER
from xuance_worker.config import XuancePlan

SPREAD, CART, PENDULUM = "simple_spread_v3", "CartPole-v1", "Pendulum-v1"
RECURRENT = {"use_rnn": True, "buffer_size": 16, "parallels": 8}
CASES: dict[str, dict[str, Any]] = {
    "mappo": {"env_id": SPREAD},
    "mappo continuous": {"env_id": SPREAD, "continuous_action": True, "batch_size": 256},
    "mappo recurrent": {"env_id": SPREAD, **RECURRENT},
    "mappo mixed": {"env_id": "simple_tag_v3", "use_parameter_sharing": False, "use_global_state": True},
    "mappo walking": {"env_id": "sisl/multiwalker_v9", "activation_action": "tanh"},
    "ippo": {"env_id": SPREAD, "buffer_size": 800},
    "ippo mixed": {"env_id": "simple_adversary_v3", "use_parameter_sharing": False, "buffer_size": 800},
    "coma": {"env_id": SPREAD, "buffer_size": 800},
    "coma recurrent": {"env_id": SPREAD, **RECURRENT},
    "coma mixed": {"env_id": "simple_tag_v3", "use_parameter_sharing": False, "buffer_size": 800},
    "qmix": {"env_id": SPREAD},
    "qmix mixed": {"env_id": "simple_tag_v3"},
    "qmix recurrent": {"env_id": SPREAD, **RECURRENT, "batch_size": 8},
    "vdn": {"env_id": SPREAD},
    "vdn mixed": {"env_id": "simple_tag_v3", "use_parameter_sharing": False},
    "iql": {"env_id": SPREAD},
    "iql mixed": {"env_id": "simple_tag_v3", "use_parameter_sharing": False},
    "maddpg": {"env_id": SPREAD},
    "maddpg mixed": {"env_id": "simple_adversary_v3", "use_parameter_sharing": False},
    "maddpg walking": {"env_id": "sisl/multiwalker_v9", "activation_action": "tanh"},
    "ppo": {"env_id": CART, "horizon_size": 64},
    "ppo continuous": {"env_id": PENDULUM, "horizon_size": 64},
    "dqn": {"env_id": CART},
    "sac": {"env_id": PENDULUM},
    "sac discrete": {"env_id": CART},
    **{name: {"env_id": SPREAD, "buffer_size": 800} for name in ("iac", "vdac")},
    **{
        f"{name} continuous": {"env_id": SPREAD, "buffer_size": 800, "continuous_action": True}
        for name in ("iac", "vdac")
    },
    **{name: {"env_id": SPREAD} for name in ("wqmix", "qtran")},
    **{f"{name} recurrent": {"env_id": SPREAD, **RECURRENT} for name in ("iac", "vdac")},
    **{f"{name} recurrent": {"env_id": SPREAD, **RECURRENT, "batch_size": 8} for name in ("wqmix", "masac")},
    **{name: {"env_id": SPREAD} for name in ("matd3", "masac", "iddpg", "itd3", "isac")},
    **{name: {"env_id": CART, "horizon_size": 64} for name in ("a2c", "pg", "ppg")},
    **{f"{name} continuous": {"env_id": PENDULUM, "horizon_size": 64} for name in ("a2c", "pg", "ppg")},
    **{name: {"env_id": CART} for name in ("ddqn", "dueldqn", "noisydqn", "perdqn", "c51", "qrdqn")},
    **{name: {"env_id": PENDULUM} for name in ("ddpg", "td3")},
}
STEPS = 2400


def train(folder: Path, config: dict[str, Any]) -> Messages:
    """Train in a fork of this process and return the messages."""
    file = folder / "config.json"
    file.write_text(json.dumps(config))
    child = os.fork()
    if child == 0:
        for descriptor, name in ((1, "telemetry.jsonl"), (2, "worker.log")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
        os._exit(main(WORKER, ["--config", str(file)]))
    _, status = os.waitpid(child, 0)
    if status:
        log = (folder / "worker.log").read_text()
        raise RuntimeError(f"exit {os.waitstatus_to_exitcode(status)}\n{log[-1500:]}")
    return [json.loads(line) for line in (folder / "telemetry.jsonl").read_text().splitlines()]


def acts(checkpoint: str) -> None:
    """Check the best and a sampled action of every agent. Raises `ValueError` for one outside its space
    and for a best action that changes."""
    _, described = read_description(checkpoint, XuancePlan.FORMAT, ALGORITHMS)
    for agent in spaces_of(described):
        for deterministic in (True, False):
            setup = AgentSetup(agent, settings={"checkpoint": checkpoint, "deterministic": deterministic})
            acting = operator.operate(setup)
            seen = acting._policies.observations[agent].sample() * 0
            action = acting.select_action(seen)
            if not acting.actions.contains(action):
                raise ValueError(f"{agent}: {action!r} is not in {acting.actions}")
            again = operator.operate(setup).select_action(seen)
            if deterministic and not np.array_equal(action, again):
                raise ValueError(f"{agent}: the best action was {action!r}, then {again!r}")


def row(name: str, folder: Path) -> list[object]:
    config = {"algorithm": name.split()[0], "total_timesteps": STEPS, **CASES[name]}
    run = train_and_resume(train, acts, folder, config)
    if name != "perdqn" and not {"policy_loss", "value_loss"} & set(metric_names(run.resumed)):
        raise ValueError("nothing was learned after the resume")  # PerDQN's loss is not reported by upstream
    return [config["env_id"], f"{run.seconds:.0f}", losses(run.messages), run.outcome]


if __name__ == "__main__":
    columns = ("algorithm", "environment", "s", "losses seen", "checkpoint acts", "resumed")
    sys.exit(print_table(columns, chosen(CASES), row))
