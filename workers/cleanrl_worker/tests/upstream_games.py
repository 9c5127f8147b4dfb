"""Run by a worker's interpreter: a game played through the contract's player, beside upstream's own wrappers.

Both play the same game with the same actions. Prints one JSON object: the numbers of
compared observations, of observations that are identical bit for bit, and of lost lives.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gymnasium
import numpy as np
from cleanrl.ppo_atari import make_env
from mosaic_contract.atari import as_trained, record
from mosaic_contract.registry import register

NOOPS = 3


class Scripted:
    """Operator that records its observations and plays random actions."""

    def __init__(self, actions: int) -> None:
        self.seen: list[Any] = []
        self._generator, self._actions = np.random.default_rng(1), actions

    def select_action(self, observation: Any) -> int:
        self.seen.append(np.array(observation))
        return int(self._generator.integers(self._actions))


def main(env_id: str, decisions: int) -> dict[str, int]:
    register(env_id)
    upstream, lives = beside(env_id, decisions)
    ours = played(env_id, decisions)
    same = sum(bool((one == other).all()) for one, other in zip(ours, upstream, strict=True))
    return {"compared": len(ours), "same": same, "lives": lives}


def beside(env_id: str, decisions: int) -> tuple[list[Any], int]:
    """Return a policy's observations through upstream's wrappers, and the number of lives that it loses."""
    env = make_env(env_id, 0, False, "")()
    inner: Any = env
    while type(inner).__name__ != "NoopResetEnv":
        inner = inner.env
    inner.override_num_noops = NOOPS
    policy = Scripted(int(env.action_space.n))
    observation, _ = env.reset(seed=5)
    lost = 0
    for _ in range(decisions):
        observation, _, terminated, truncated, _ = env.step(policy.select_action(observation))
        if terminated or truncated:
            observation, _ = env.reset()
            lost += 1
    return policy.seen, lost


def played(env_id: str, decisions: int) -> list[Any]:
    """Return the policy's observations through the contract's player, which gets every frame of the game."""
    env: Any = gymnasium.make(env_id)
    policy = Scripted(int(env.action_space.n))
    player: Any = as_trained({"atari": record(env_id, {}, restarts=True) | {"most_noops": 1}}, policy)
    env.reset(seed=5)
    for _ in range(NOOPS - 1):
        frame, *_, info = env.step(0)
    player.episode_begin(5, 0)
    while True:
        action = player.select_action(frame, info=info)
        if len(policy.seen) == decisions:
            return policy.seen
        frame, _, terminated, truncated, info = env.step(action)
        assert not (terminated or truncated), "the game is over: compare fewer decisions"


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
