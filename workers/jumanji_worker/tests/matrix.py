"""Every algorithm on every environment: trained, acting from its checkpoint, resumed; as a table.

Not a test: `PYTHON workers/jumanji_worker/tests/matrix.py [ALGORITHM ENVIRONMENT]`, with the interpreter of
the worker's environment (`mosaic-lab workers list jumanji` shows where it is). All of it happens in one
process, with small networks: nearly all of it is compiling.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumanji_worker.process_setup import prepare

prepare()

from jumanji_worker import operator, runtime  # noqa: E402
from jumanji_worker.arena_environment import ArenaEnvironment  # noqa: E402
from jumanji_worker.config import resolve  # noqa: E402
from jumanji_worker.environments import TRAINED  # noqa: E402
from mosaic_contract import AgentSetup, Telemetry, TrainingConfig, describe_space  # noqa: E402

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


def train(folder: Path, **given: Any) -> tuple[list[dict[str, Any]], float]:
    """The messages of a training, and its seconds of CPU time."""
    folder.mkdir(parents=True)
    config = TrainingConfig.from_dict({"run_id": folder.name, "seed": 1, **given}, folder)
    config = replace(config, hyperparameters=resolve(config)["hyperparameters"])
    file = folder / "telemetry.jsonl"
    began = time.process_time()
    with file.open("wb") as stream:
        telemetry = Telemetry(config.run_id, stream.fileno())
        telemetry.run_completed(runtime.train(config, telemetry))
    return [json.loads(line) for line in file.read_text().splitlines()], time.process_time() - began


def acts(checkpoint: str, env_id: str) -> None:
    """A short episode by the best actions, and one by drawn ones. Raises `ValueError`."""
    env = ArenaEnvironment(env_id, {})
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


def check(algorithm: str, env_id: str, folder: Path) -> str:
    """One row of the table."""
    hyperparameters = OF_PPO if algorithm == "ppo" else {**OF_A2C, **SMALL[env_id]}
    config = {"algorithm": algorithm, "env_id": env_id, "total_timesteps": STEPS, **hyperparameters}
    messages, seconds = train(folder / "first", **config)
    last = [m["payload"] for m in messages if m.get("event") == "checkpoint_saved"][-1]["checkpoint_path"]
    final = messages[-1]["payload"]
    acts(last, env_id)
    more = {**config, "total_timesteps": 2 * STEPS, "checkpoint": {"resume_from": last}}
    resumed, again = train(folder / "second", **more)
    saved = [m["payload"]["step"] for m in resumed if m.get("event") == "checkpoint_saved"][-1]
    losses = sorted(key for key in final["final_metrics"] if key.endswith("loss"))
    told = f"{seconds:.0f} | {again:.0f} | {final['episodes']} | {', '.join(losses)}"
    return f"| {algorithm} | {env_id} | {told} | yes | to step {saved} |"


def run(chosen: list[tuple[str, str]]) -> int:
    failed = 0
    print("| algorithm | environment | s | s again | episodes | losses seen | checkpoint acts | resumed |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for algorithm, env_id in chosen:
            try:
                print(check(algorithm, env_id, Path(folder, f"{algorithm}-{env_id}")), flush=True)
            except Exception:
                failed += 1
                print(f"| {algorithm} | {env_id} | FAILED |\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    pair = tuple(sys.argv[1:3])
    everything = [(algorithm, env_id) for env_id in TRAINED for algorithm in ("a2c", "ppo")]
    sys.exit(run([(pair[0], pair[1])] if len(pair) == 2 else everything))
