"""Run by the worker's interpreter: actions of upstream's own networks, with a checkpoint's weights.

The shim is not used: upstream's A2C agent is set up as in its own program, and PPO's two-layer network is
computed with NumPy. Prints JSON: the observations `seen` on a tour, and each algorithm's best actions.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import hydra
import jax
import jax.numpy as jnp
import jumanji
import numpy as np
from jumanji.training.setup_train import setup_agent, setup_env


def tour() -> list[Any]:
    """Return the observations of a tour that visits the cities in descending order."""
    env = jumanji.make("TSP-v1")
    step = jax.jit(env.step)
    state, timestep = jax.jit(env.reset)(jax.random.PRNGKey(3))
    seen = []
    for city in range(19, 4, -1):
        seen.append(timestep.observation)
        state, timestep = step(state, city)
    return seen


def of_a2c(path: str, overrides: list[str]) -> list[int]:
    with hydra.initialize_config_dir(f"{jumanji.__path__[0]}/training/configs", version_base=None):
        settings = hydra.compose("config.yaml", overrides=["env=tsp", "agent=a2c", *overrides])
    agent = setup_agent(settings, setup_env(settings))
    weights: dict[str, dict[str, Any]] = {}
    with np.load(path) as file:
        for name in file:
            if found := re.fullmatch(r"\.params_state\.params\.actor\['(.+)'\]\['(.+)'\]", name):
                weights.setdefault(found[1], {})[found[2]] = file[name]
    policy = jax.jit(agent.make_policy(weights, stochastic=False))
    batch = jax.tree.map(lambda *arrays: jnp.stack(arrays), *tour())
    return np.asarray(policy(batch, jax.random.PRNGKey(0))[0]).tolist()


def of_ppo(path: str) -> list[int]:
    with np.load(path) as file:
        parts = [f"['actor'].params['params']['Dense_{n}']" for n in (0, 1)]
        layers = [(file[f"{part}['kernel']"], file[f"{part}['bias']"]) for part in parts]
    actions = []
    for seen in tour():
        numbers = [np.ravel(seen.coordinates), [seen.position / 19], (seen.trajectory + 1) / 20]
        (wide, shift), (out, bias) = layers
        scores = np.tanh(np.concatenate([*numbers, seen.action_mask]) @ wide + shift) @ out + bias
        actions.append(int(np.where(seen.action_mask, scores, -np.inf).argmax()))
    return actions


if __name__ == "__main__":
    seen = [{name: np.asarray(part).tolist() for name, part in one._asdict().items()} for one in tour()]
    best = {"a2c": of_a2c(sys.argv[1], sys.argv[3:]), "ppo": of_ppo(sys.argv[2])}
    print(json.dumps({"seen": seen, **best}))
