"""Run by the worker's interpreter: actions of upstream's own agents, with a checkpoint's weights.

The shim's operators are not used: upstream's agents are made for the tests' small trainings, and called as
in upstream's own policy tests. Prints a JSON object: the actions of each agent, by algorithm.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from xuance import get_arguments
from xuance.torch import REGISTRY_Agents

TEAM = ["agent_0", "agent_1", "agent_2"]


def agent_of(algorithm: str, path: str) -> Any:
    family, env = ("classic_control", "CartPole-v1") if algorithm == "dqn" else ("mpe", "simple_spread_v3")
    given = {"logger": "tensorboard", "parallels": 1, "buffer_size": 1}
    if algorithm == "mappo":
        given |= {"policy": "Categorical_MAAC_Policy"}
    if algorithm in ("mappo", "coma"):
        given |= {"n_minibatch": 1}
    settings = get_arguments(algorithm, family, env, parser_args=Namespace(**given))
    envs = Namespace(num_envs=1, reset=lambda: None, max_episode_steps=25)
    if algorithm == "dqn":
        envs.observation_space, envs.action_space = Box(-9, 9, (4,)), Discrete(2)
    else:
        envs.agents, envs.num_agents, envs.state_space = TEAM, 3, Box(-9, 9, (54,))
        envs.observation_space = {agent: Box(-9, 9, (18,)) for agent in TEAM}
        five = Box(0, 1, (5,)) if algorithm == "maddpg" else Discrete(5)
        envs.action_space = dict.fromkeys(TEAM, five)
    agent = REGISTRY_Agents[settings.agent](settings, envs)
    agent.policy.load_state_dict(torch.load(path, weights_only=True)["policy"])
    return agent


def act(algorithm: str, path: str) -> list[list[Any]]:
    agent = agent_of(algorithm, path)
    generator = np.random.default_rng(3)
    answers = []
    for _ in range(20):
        if algorithm == "dqn":
            seen = generator.normal(size=(1, 4)).astype(np.float32)
            answers.append([int(agent.get_actions(seen, test_mode=True)["actions"][0])])
        else:
            team = {name: generator.normal(size=18).astype(np.float32) for name in TEAM}
            best = agent.get_actions(obs_dict=[team], test_mode=True, deterministic=True)["actions"][0]
            answers.append([np.asarray(best[name]).tolist() for name in TEAM])
    return answers


torch.nn.HuberLoss = lambda **_: None  # COMA's learner creates an invalid one; acting needs none
os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))  # upstream writes logs to the working directory
print(json.dumps({name: act(name, path) for name, path in (pair.split("=", 1) for pair in sys.argv[2:])}))
