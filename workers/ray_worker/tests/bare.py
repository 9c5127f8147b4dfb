"""RLlib alone, for a comparison of speed: PPO on CartPole as this worker configures it by default, with the
environment in its own process (`num_env_runners=0`).

`OMP_NUM_THREADS=1 PYTHON workers/ray_worker/tests/bare.py STEPS`, with the interpreter of the worker's
environment, trains until as many steps are done. The last line is JSON: the steps and the seconds from the
end of the first iteration to that of the last, as a worker's metrics have them.
"""

from __future__ import annotations

import json
import sys
import time

import ray
from ray.rllib.algorithms.ppo import PPOConfig


def train(wanted: int) -> dict[str, float]:
    ray.init(num_cpus=0, include_dashboard=False, object_store_memory=256 << 20)
    config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0).debugging(seed=1)
    algorithm = config.build_algo()

    def iteration() -> int:
        return int(algorithm.train()["env_runners"]["num_env_steps_sampled"])

    first = iteration()
    steps, began = first, time.monotonic()
    while steps < wanted or steps == first:
        steps += iteration()
    seconds = time.monotonic() - began
    algorithm.stop()
    ray.shutdown()
    return {"steps": steps - first, "seconds": round(seconds, 3)}


print(json.dumps(train(int(sys.argv[1]))))
