"""Run by a worker's interpreter: whole episodes of a checkpoint's own environment, as an arena would play
them.

Prints the returns of the policy (its best actions, and drawn ones) and of random actions, on the same seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cleanrl_worker.environments import make
from cleanrl_worker.operator import operate
from mosaic_contract import AgentSetup, describe_space


def play(env: Any, seed: int, act: Callable[[Any], Any]) -> float:
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    total, over = 0.0, False
    while not over:
        action = act(observation)
        assert env.action_space.contains(action), action
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    return total


def main(checkpoint: Path, episodes: int) -> dict[str, list[float]]:
    env = make(json.loads(checkpoint.with_suffix(".json").read_text())["env_id"], {}, None)

    def policy(deterministic: bool) -> Callable[[Any], Any]:
        settings = {"checkpoint": str(checkpoint), "deterministic": deterministic}
        spaces = describe_space(env.observation_space), describe_space(env.action_space)
        return operate(AgentSetup("agent_0", "test", 1, *spaces, settings)).select_action

    players = {
        "random": lambda observation: env.action_space.sample(),
        "best": policy(True),
        "drawn": policy(False),
    }
    return {name: [play(env, seed, player) for seed in range(episodes)] for name, player in players.items()}


if __name__ == "__main__":
    print("\n" + json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
