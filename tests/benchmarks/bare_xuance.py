"""Run by the worker's interpreter: MAPPO on simple_spread_v3 or PPO on CartPole-v1 by XuanCe alone.

Arguments: the configuration that the worker resolved, and a folder for what upstream writes. Upstream's own
environments, which find mpe2 where PettingZoo no longer has it. Prints the speed as JSON, in steps per second
from the first thing that upstream logs to the last.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import mpe2
import mpe2.simple_spread_v3
from xuance import get_arguments, make_envs
from xuance.torch import REGISTRY_Agents

TASKS = {
    "mappo": ("mpe", "simple_spread_v3", {
        "continuous_action": False, "policy": "Categorical_MAAC_Policy", "vectorize": "DummyVecMultiAgentEnv",
    }),
    "ppo": ("classic_control", "CartPole-v1", {"vectorize": "DummyVecEnv"}),
}  # fmt: skip


def main(config: dict[str, Any]) -> None:
    sys.modules.update({"pettingzoo.mpe": mpe2, "pettingzoo.mpe.simple_spread_v3": mpe2.simple_spread_v3})
    family, env_id, chosen = TASKS[config["algorithm"]]
    given = {**chosen, "running_steps": config["total_timesteps"], "render": False}
    settings = get_arguments(config["algorithm"], family, env_id, parser_args=Namespace(**given))
    agent = REGISTRY_Agents[settings.agent](settings, make_envs(settings))
    seen: list[tuple[float, int]] = []
    log_infos = agent.log_infos

    def log(info: dict[str, Any], step: int) -> None:
        seen.append((time.perf_counter(), step))
        log_infos(info, step)

    agent.log_infos = log
    agent.train(config["total_timesteps"] // settings.parallels)
    (began, first), (ended, last) = seen[0], seen[-1]
    print(json.dumps((last - first) / (ended - began)))


configuration = json.loads(Path(sys.argv[1]).read_text())
os.chdir(sys.argv[2])
main(configuration)
