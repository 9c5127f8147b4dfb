"""Describe environments as language models read them, as JSON, in the interpreter of a worker that has them.

`python describe_environments.py ENV …` prints {env: {"text", "actions", "rules"}} after a reset with seed 3
(board games: after three moves, each the first legal one). `--views ENV …` compares each visible object with
MiniGrid's grid.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gymnasium_worker.environments import facts_of, make
from mosaic_contract import AgentSetup, describe_space
from mosaic_contract.language.describers import Describer
from mosaic_contract.language.describers.minigrid import view_of
from mosaic_contract.language.parsing import Actions

_AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))  # by direction


def described(env_id: str) -> dict[str, Any]:
    env = make(env_id, {}, None)
    if hasattr(env, "agent_iter"):
        env.reset(seed=3)
        for _ in range(0 if "holdem" in env_id else 3):  # the first legal move there is a fold
            env.step(int(legal_moves(env)[0]))
        agent = env.agent_selection
        observation = env.observe(agent)
    elif hasattr(env, "possible_agents"):
        agent = env.possible_agents[0]
        observation = env.reset(seed=3)[0][agent]
    else:
        agent, (observation, _) = "agent_0", env.reset(seed=3)
    spaces = [
        getattr(env, name)(agent)
        if agent != "agent_0" or hasattr(env, "possible_agents")
        else getattr(env, name)
        for name in ("observation_space", "action_space")
    ]
    facts = facts_of(env, agent)
    observed, acted = map(describe_space, spaces)
    settings = {"env_id": env_id, "action_meanings": facts.action_meanings, "agents": [agent]}
    describer = Describer(AgentSetup(agent, env_id, 3, observed, acted, settings))
    actions = Actions(acted, describer.names)
    text = describer.text(observation, description=facts.describe() if facts.describe else None)
    names = actions.names(actions.legal()) if actions.discrete else []
    return {"text": text, "actions": names, "rules": describer.rules}


def legal_moves(env: Any) -> list[int]:
    observation = env.observe(env.agent_selection)
    if not isinstance(observation, dict):
        return [0]
    return [index for index, allowed in enumerate(observation["action_mask"]) if allowed]


def compared(env_id: str) -> dict[str, int]:
    """Return the number of objects seen in 200 steps; raise if one differs from the grid."""
    env = make(env_id, {}, None)
    observation, _ = env.reset(seed=1)
    env.action_space.seed(1)
    seen = 0
    for _ in range(200):
        inner, view = env.unwrapped, view_of(observation)
        (x, y), (ahead_x, ahead_y) = (int(v) for v in inner.agent_pos), _AHEAD[inner.agent_dir]
        for cell in view.cells:
            place = (
                x + cell.forward * ahead_x - cell.right * ahead_y,
                y + cell.forward * ahead_y + cell.right * ahead_x,
            )
            there = inner.grid.get(*place)
            assert (there.type, there.color) == (cell.kind, cell.colour), (place, there, cell)
            if cell.kind == "door":
                assert cell.state == ("locked" if there.is_locked else "open" if there.is_open else "closed")
            seen += cell.kind != "wall"
        carried = inner.carrying and f"{inner.carrying.color} {inner.carrying.type}"
        assert (view.carried and view.carried.name) == carried
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()
    return {"objects": seen}


if __name__ == "__main__":
    if sys.argv[1] == "--views":
        print(json.dumps({env_id: compared(env_id) for env_id in sys.argv[2:]}))
    else:
        print(json.dumps({env_id: described(env_id) for env_id in sys.argv[1:]}))
