"""Run by the worker's interpreter: actions of upstream's own `predict`, with a checkpoint's weights.

The shim is not imported: upstream loads its own zip. Prints one JSON list of [best, drawn] per checkpoint:
the actions for each observation.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import sb3_contrib
import stable_baselines3
import torch

SEED = 5
_BASELINES = ("ppo", "a2c", "dqn", "sac", "td3", "ddpg")
CLASSES = {
    "recurrent_ppo": sb3_contrib.RecurrentPPO,
    "maskable_ppo": sb3_contrib.MaskablePPO,
    **{name: getattr(sb3_contrib, name.upper()) for name in ("trpo", "tqc", "qrdqn", "ars")},
    **{name: getattr(stable_baselines3, name.upper()) for name in _BASELINES},
}


def act(algorithm: str, path: str) -> list[list[Any]]:
    model = CLASSES[algorithm].load(path, device="cpu")
    seen = np.random.default_rng(3).normal(size=(20, *model.observation_space.shape)).astype(np.float32)
    answers = []
    for deterministic in (True, False):
        torch.manual_seed(SEED)
        if model.use_sde:
            with torch.no_grad():
                model.policy.reset_noise()
        state, acted = None, []
        for index, one in enumerate(seen):
            start = np.array([index == 0])
            action, state = model.predict(one, state, start, deterministic=deterministic)
            acted.append(action.tolist())
        answers.append(acted)
    return answers


print(json.dumps([act(name, path) for name, path in (pair.split("=", 1) for pair in sys.argv[1:])]))
