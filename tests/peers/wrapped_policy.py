"""Play a checkpoint's PPO network without an arena, in a training worker's interpreter.

The environment is wrapped as in the training; the network is assembled by hand from the file's weights.
Prints the best actions of an episode's first steps.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gymnasium
import minigrid  # noqa: F401  (registers its environments)
import torch
from mosaic_contract.wrappers import wrap


def layers(saved: dict) -> tuple[list[tuple[torch.Tensor, torch.Tensor]], object]:
    """Return the actor's weights and biases, and the activation between its layers."""
    if "modules" in saved:
        state, names = saved["modules"]["agent"], [f"actor.{index}" for index in (0, 2, 4)]
        return [(state[f"{name}.weight"], state[f"{name}.bias"]) for name in names], torch.tanh
    state = {name: value for name, value in saved["algorithm"].items() if name.startswith("policy.actor.")}
    names = [name.removesuffix(".weight") for name in state if name.endswith(".weight")]
    return [(state[f"{name}.weight"], state[f"{name}.bias"]) for name in names], torch.relu


def main(path: Path, seed: int, steps: int) -> list[int]:
    described = json.loads(path.with_suffix(".json").read_text())
    weights, between = layers(torch.load(path, map_location="cpu", weights_only=True))
    env = wrap(gymnasium.make(described["env_id"]), described["wrappers"], described["env_id"])
    observation, _ = env.reset(seed=seed)
    actions = []
    for _ in range(steps):
        x = torch.from_numpy(observation).float().view(1, -1)
        for index, (weight, bias) in enumerate(weights):
            x = torch.nn.functional.linear(between(x) if index else x, weight, bias)
        actions.append(int(x.argmax()))
        observation, *_ = env.step(actions[-1])
    return actions


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
