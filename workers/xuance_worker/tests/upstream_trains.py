"""Run by the worker's interpreter: MAPPO's small training of the tests by upstream alone, without the shim.

mpe2 replaces the module that PettingZoo no longer has. The environments get copies of the actions, which mpe2
sets to zero, and upstream a new list of observations for each step, since it overwrites the list before it
stores the first observations. Prints the return of every episode.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from argparse import Namespace
from typing import Any

import mpe2
import mpe2.simple_spread_v3
from xuance import get_arguments, make_envs
from xuance.torch import REGISTRY_Agents

STEPS, PARALLELS = 800, 4


def train() -> list[float]:
    sys.modules.update({"pettingzoo.mpe": mpe2, "pettingzoo.mpe.simple_spread_v3": mpe2.simple_spread_v3})
    given = {
        "continuous_action": False,
        "policy": "Categorical_MAAC_Policy",
        "vectorize": "DummyVecMultiAgentEnv",
        "parallels": PARALLELS,
        "running_steps": STEPS,
        "render": False,
    }
    settings = get_arguments("mappo", "mpe", "simple_spread_v3", parser_args=Namespace(**given))
    envs = make_envs(settings)
    step = envs.step

    def step_without_changes(actions: Any) -> Any:
        envs.buf_obs = list(envs.buf_obs)
        return step(copy.deepcopy(actions))

    envs.step = step_without_changes
    agent = REGISTRY_Agents["MAPPO"](settings, envs)
    returns: list[float] = []

    def log_infos(info: dict[str, Any], step: int) -> None:
        found = [value for name, value in info.items() if "Episode-Rewards" in name]
        returns.extend(float(of_env) for value in found for of_env in value.values())

    agent.log_infos = log_infos
    agent.train(STEPS // PARALLELS)
    return returns


os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))  # upstream writes logs to the working directory
print(json.dumps(train()))
