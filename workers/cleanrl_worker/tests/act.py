"""Run by a worker's interpreter on checkpoint files: rebuild each policy from its file alone, and act.

Neither upstream nor this worker is imported, and nothing is unpickled but weights. Prints one JSON object a
checkpoint: the return of one greedy episode, and the network's outputs for one observation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

RELU, TANH = torch.relu, torch.tanh


def linear(state: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def network(
    described: dict[str, Any], modules: dict[str, dict[str, torch.Tensor]], x: torch.Tensor
) -> torch.Tensor:
    """The greedy action (or its scores) for one observation."""
    algorithm, legacy = described["algorithm"], described["legacy"]
    if algorithm.startswith("ppo"):
        head = "actor" if algorithm == "ppo" else "actor_mean"
        for index in (0, 2):
            x = TANH(linear(modules["agent"], f"{head}.{index}", x))
        return linear(modules["agent"], f"{head}.4", x)
    if algorithm in ("dqn", "c51"):
        state = modules["q_network"]
        names = ["fc1", "fc2", "fc3"] if "fc1.weight" in state else [f"network.{i}" for i in (0, 2, 4)]
        x = linear(state, names[2], RELU(linear(state, names[1], RELU(linear(state, names[0], x)))))
        if algorithm == "dqn":
            return x
        values = described["hyperparameters"]
        atoms = torch.linspace(values["v_min"], values["v_max"], values["n_atoms"])
        return (torch.softmax(x.view(-1, values["n_atoms"]), dim=1) * atoms).sum(1)
    state = modules["pg" if "pg" in modules else "actor"]
    x = RELU(linear(state, "fc2", RELU(linear(state, "fc1", x))))
    last = {"sac": "mean" if legacy else "fc_mean"}.get(algorithm, "fc_mu")
    action = TANH(linear(state, last, x))
    if legacy and algorithm != "sac":
        return action  # the release does not scale it
    low, high = (torch.as_tensor(described["action_space"][bound]) for bound in ("low", "high"))
    return action * (high - low) / 2 + (high + low) / 2


def observed(described: dict[str, Any], observation: Any) -> torch.Tensor:
    x = torch.as_tensor(np.asarray(observation), dtype=torch.float64)
    statistics = described["preprocessing"]["normalise"]
    if statistics:
        mean, variance = torch.tensor(statistics["mean"]), torch.tensor(statistics["var"])
        x = (x - mean) / torch.sqrt(variance + statistics["epsilon"])
        x = x.clamp(-statistics["clip"], statistics["clip"])
    return x.float()


def act(path: Path) -> dict[str, Any]:
    described = json.loads(path.with_suffix(".json").read_text())
    saved = torch.load(path, map_location="cpu", weights_only=True)
    env = gymnasium.make(described["env_id"])
    observation, _ = env.reset(seed=7)
    outputs = network(described, saved["modules"], observed(described, observation))
    total, over = 0.0, False
    while not over:
        out = network(described, saved["modules"], observed(described, observation))
        action = out.numpy() if described["action_space"]["type"] == "Box" else int(out.argmax())
        if described["action_space"]["type"] == "Box":
            action = np.clip(action, env.action_space.low, env.action_space.high)
        assert env.action_space.contains(action), action
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    return {"return": total, "outputs": outputs.tolist(), "step": saved["step"]}


with torch.no_grad():
    print(json.dumps([act(Path(argument)) for argument in sys.argv[1:]]))
