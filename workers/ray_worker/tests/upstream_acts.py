"""Run by the worker's interpreter: actions of upstream's own policies, from upstream's own checkpoints.

The shim is not imported. Prints a JSON object: the best actions, by training and agent.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.utils.spaces.space_utils import unsquash_action

AGENTS = {
    "ppo": {"agent_0": ("default_policy", 4)},
    "impala": {"agent_0": ("default_policy", 4)},
    "dqn": {"agent_0": ("default_policy", 4)},
    "sac": {"agent_0": ("default_policy", 3)},
    "team": {"adversary_0": ("adversary", 16), "agent_0": ("good", 14)},
}
TORQUE = Box(-2.0, 2.0, (1,), np.float32)


def act(folder: str, policy: str, size: int, *, torque: bool) -> list[Any]:
    module = RLModule.from_checkpoint(f"{folder}/learner_group/learner/rl_module/{policy}")
    generator = np.random.default_rng(3)
    actions = []
    for _ in range(20):
        seen = torch.from_numpy(generator.normal(size=size).astype(np.float32))[None]
        found = module.forward_inference({"obs": seen})
        if "actions" not in found:  # DQN returns actions, no distribution
            inputs = found["action_dist_inputs"]
            best = module.get_inference_action_dist_cls().from_logits(inputs).to_deterministic()
            found = {"actions": best.sample()}
        action = found["actions"][0].detach().numpy()
        actions.append((unsquash_action(action, TORQUE) if torque else action).tolist())
    return actions


folders = dict(pair.split("=", 1) for pair in sys.argv[1:])
answers = {
    name: {
        agent: act(folders[name], policy, size, torque=name == "sac")
        for agent, (policy, size) in AGENTS[name].items()
    }
    for name in folders
}
print(json.dumps(answers))
