"""Play recorded actions in a served environment: `served_episode.py`, with a worker's interpreter.

Reads {env_id, command, seed, actions, later} from stdin. Prints the `digest` of each observation that was
acted on, the total reward of each step, and the digests of the results of `later` resets without a seed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from mosaic_contract import pack, unpack
from mosaic_contract.environment_server.served import make_served

Steps = Iterator["tuple[list[Any], float]"]


def digest(observation: Any) -> str:
    """Return a short hash of an observation."""
    return hashlib.sha256(json.dumps(pack(observation), sort_keys=True).encode()).hexdigest()[:12]


def main() -> None:
    given = json.load(sys.stdin)
    env = make_served({"worker": "test", "command": given["command"]}, given["env_id"], {}, None)
    actions = iter(unpack(given["actions"]))
    play = _turns if hasattr(env, "agent_iter") else _team if hasattr(env, "possible_agents") else _alone
    seen, rewards = [], []
    for observations, reward in play(env, given["seed"], actions):
        seen += observations
        rewards.append(reward)
    later = [digest(env.reset()) for _ in range(given["later"])]
    print(json.dumps([list(map(digest, seen)), rewards, later]))


def _alone(env: Any, seed: int, actions: Iterator[Any]) -> Steps:
    seen, _ = env.reset(seed=seed)
    for action in actions:
        before, (seen, reward, *_) = seen, env.step(action)
        yield [before], reward


def _team(env: Any, seed: int, actions: Iterator[Any]) -> Steps:
    seen, _ = env.reset(seed=seed)
    while env.agents:
        acting = list(env.agents)
        played = dict(zip(acting, actions, strict=False))
        if not played:
            return
        before, (seen, rewards, *_) = seen, env.step(played)
        yield [before[agent] for agent in acting], sum(rewards.values())


def _turns(env: Any, seed: int, actions: Iterator[Any]) -> Steps:
    env.reset(seed=seed)
    for action in actions:
        before = env.observe(env.agent_selection)
        env.step(action)
        yield [before], sum(env.rewards.values())


if __name__ == "__main__":
    main()
