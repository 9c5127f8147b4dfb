"""Train with XuanCe alone, in the worker's interpreter: one agent on CartPole-v1, or the team of
simple_spread_v3.

Arguments: the configuration that the worker resolved, and a folder for upstream's files. Environments are
upstream's own, with mpe2 in place of the module that PettingZoo dropped. Prints the speed as JSON, in steps
per second from the first update that upstream logs to the last.
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

POLICIES = {"mappo": "Categorical_MAAC_Policy", "qmix": "Mixing_Q_network", "maddpg": "MADDPG_Policy"}
"""Upstream's policies for teams, by algorithm."""


def arguments(config: dict[str, Any]) -> Any:
    """Return upstream's configuration with the values that the worker resolved."""
    name, seed = config["algorithm"], config["seed"]
    values = {key: value for key, value in config["hyperparameters"].items() if value is not None}
    given = {**values, "seed": seed, "env_seed": seed, "running_steps": config["total_timesteps"]}
    given["device"] = "cpu"
    if name in POLICIES:
        family, chosen = "mpe", {"policy": POLICIES[name], "vectorize": "DummyVecMultiAgentEnv"}
    else:
        family, chosen = "classic_control", {"vectorize": "DummyVecEnv"}
    parser_args = Namespace(**given, **chosen, render=False)
    return get_arguments(name, family, config["env_id"], parser_args=parser_args)


def main(config: dict[str, Any]) -> None:
    sys.modules.update({"pettingzoo.mpe": mpe2, "pettingzoo.mpe.simple_spread_v3": mpe2.simple_spread_v3})
    settings = arguments(config)
    agent = REGISTRY_Agents[settings.agent](settings, make_envs(settings))
    seen: list[tuple[float, int]] = []
    log_infos = agent.log_infos

    def log(info: dict[str, Any], step: int) -> None:
        if any("loss" in name for name in info):
            seen.append((time.perf_counter(), step))
        log_infos(info, step)

    agent.log_infos = log
    agent.train(config["total_timesteps"] // settings.parallels)
    (began, first), (ended, last) = seen[0], seen[-1]
    print(json.dumps((last - first) / (ended - began)))


configuration = json.loads(Path(sys.argv[1]).read_text())
os.chdir(sys.argv[2])
main(configuration)
