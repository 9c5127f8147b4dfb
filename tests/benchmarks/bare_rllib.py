"""Train with RLlib alone, in the worker's interpreter: one agent in Gymnasium, or a team in mpe2.

Argument: the configuration that the worker resolved; RLlib's own is built from it as in the worker. Prints
the speed as JSON, in steps per second from the end of the first iteration that learns to the end of the last
one.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import ray
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env
from ray_worker.algorithms import ALGORITHMS
from ray_worker.factory import algorithm_config


def configure(config: dict[str, Any]) -> Any:
    env_id, policy_of = config["env_id"], config["policy_of"]
    settings = algorithm_config(ALGORITHMS[config["algorithm"]], config["hyperparameters"])
    settings.environment(env_id).debugging(seed=config["seed"])
    if "agents" in config:
        module = importlib.import_module(f"mpe2.{env_id}")
        register_env(env_id, lambda _: ParallelPettingZooEnv(module.parallel_env()))
        settings.multi_agent(
            policies=sorted(set(policy_of.values())),
            policy_mapping_fn=lambda agent, *_, **__: policy_of[agent],
        )
    return settings


def main(config: dict[str, Any]) -> None:
    ray.init(num_cpus=config["cpus"], include_dashboard=False, object_store_memory=256 << 20)
    algorithm = configure(config).build_algo()
    steps = 0
    seen: list[tuple[float, int]] = []
    while steps < config["total_timesteps"]:
        result = algorithm.train()
        steps += int(result["env_runners"]["num_env_steps_sampled"])
        if result.get("learners"):
            seen.append((time.perf_counter(), steps))
    algorithm.stop()
    ray.shutdown()
    (began, first), (ended, last) = seen[0], seen[-1]
    print(json.dumps((last - first) / (ended - began)))


main(json.loads(Path(sys.argv[1]).read_text()))
