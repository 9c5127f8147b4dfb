"""Train, resume and act from a checkpoint: every algorithm on every environment, as a table.

Not a test: `PYTHON workers/jumanji_worker/tests/matrix.py ['ALGORITHM ENVIRONMENT' ...]`, with the
interpreter of the worker's environment (`mosaic-lab workers list jumanji` shows where it is). Everything
runs in one process, with small networks; most of the time is compilation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jumanji_worker.cli import prepare

prepare()
sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from jumanji_worker import operator, runtime  # noqa: E402
from jumanji_worker.arena_environment import ArenaEnvironment  # noqa: E402
from jumanji_worker.config import JumanjiPlan  # noqa: E402
from jumanji_worker.environments import TRAINED  # noqa: E402
from mosaic_contract import AgentSetup, Telemetry, TrainingConfig, describe_space  # noqa: E402
from shim_kit.matrix import Messages, chosen, losses, print_table, train_and_resume  # noqa: E402

_DENSE: dict[str, Any] = {"num_channels": 4, "policy_layers": [16], "value_layers": [16]}
_HEADS: dict[str, Any] = {
    "transformer_num_heads": 2,
    "transformer_key_size": 4,
    "transformer_mlp_units": [16],
}
SMALL: dict[str, dict[str, Any]] = {
    "Snake-v1": _DENSE,
    "Game2048-v1": _DENSE,
    "Maze-v0": {**_DENSE, "num_channels": [4]},
    "TSP-v1": {**_HEADS, "transformer_num_blocks": 1},
    "CVRP-v1": {**_HEADS, "transformer_num_blocks": 1},
    "BinPack-v2": {**_HEADS, "num_transformer_layers": 1},
    "Connector-v3": {**_HEADS, "transformer_num_blocks": 1, "conv_n_channels": 4},
}
OF_PPO = {"n_envs": 16, "n_steps": 50, "n_epochs": 2, "batch_size": 200}
OF_A2C = {"total_batch_size": 16, "n_steps": 10}
STEPS = 3200


NAMES = [f"{algorithm} {env_id}" for env_id in TRAINED for algorithm in ("a2c", "ppo")]


def train(folder: Path, given: dict[str, Any]) -> Messages:
    """Train in this process and return the messages."""
    plan = JumanjiPlan.of(TrainingConfig.from_dict(given, folder))
    file = folder / "telemetry.jsonl"
    with file.open("wb") as stream:
        telemetry = Telemetry(plan.config.run_id, stream.fileno())
        telemetry.run_completed(runtime.train(plan, telemetry))
    return [json.loads(line) for line in file.read_text().splitlines()]


def acts(checkpoint: str, env_id: str) -> None:
    """Check ten best actions and ten sampled ones. Raises `ValueError` for one outside its space."""
    env = ArenaEnvironment(env_id, {}, None)
    about = {name: describe_space(getattr(env, name)) for name in ("observation_space", "action_space")}
    for deterministic in (True, False):
        settings = {"checkpoint": checkpoint, "deterministic": deterministic}
        acting = operator.operate(AgentSetup("agent_0", seed=1, settings=settings, **about))
        observation, _ = env.reset(seed=1)
        for _ in range(10):
            action = acting.select_action(observation)
            if not env.action_space.contains(action):
                raise ValueError(f"{action!r} is not in {env.action_space}")
            observation, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                break


def row(name: str, folder: Path) -> list[object]:
    algorithm, env_id = name.split()
    hyperparameters = OF_PPO if algorithm == "ppo" else {**OF_A2C, **SMALL[env_id]}
    config = {"algorithm": algorithm, "env_id": env_id, "total_timesteps": STEPS, **hyperparameters}
    run = train_and_resume(train, lambda checkpoint: acts(checkpoint, env_id), folder, config)
    episodes = run.messages[-1]["payload"]["episodes"]
    seconds = f"{run.seconds:.0f}", f"{run.resumed_seconds:.0f}"
    return [*seconds, episodes, losses(run.messages), run.outcome]


if __name__ == "__main__":
    columns = ("training", "s", "s again", "episodes", "losses seen", "checkpoint acts", "resumed")
    sys.exit(print_table(columns, chosen(NAMES), row))
