"""Play and draw each game for 200 steps and print faults as JSON. Run by the tests with the Python of the
worker's environment. Arguments: ids of games (default: all except those that take minutes)."""

from __future__ import annotations

import json
import random
import sys
import time

from openspiel_worker.games import facts_of, ids, make

_STEPS = 200
_SLOW = ("OpenSpiel/bridge", "OpenSpiel/bridge_uncontested_bidding")  # solving each deal takes minutes


def problems(env_id: str) -> list[str]:
    """Return a game's faults: observations outside their space, wrong action names, black frames."""
    env = make(env_id, {}, "rgb_array")
    facts = {agent: facts_of(env, agent) for agent in env.possible_agents}
    generator, found, steps = random.Random(1), [], 0
    while steps < _STEPS:
        env.reset(seed=steps)
        while env.agents and not env.terminations[env.agent_selection] and steps < _STEPS:
            agent = env.agent_selection
            mask = env.infos[agent]["action_mask"]
            seen = env.observe(agent)
            if not isinstance(seen, str) and not env.observation_space(agent).contains(seen):
                found.append(f"an observation is not in {env.observation_space(agent)}")
            described = facts[agent].describe()
            legal = [action for action, allowed in enumerate(mask) if allowed]
            meanings = facts[agent].action_meanings
            names = {meanings[action]: action for action in legal} if meanings else described["legal_moves"]
            if env.legal_moves() != names:
                found.append(f"{names} are called {env.legal_moves()}")
            env.step(generator.choice(legal))
            steps += 1
        if env.render().max() < 100:
            found.append("the picture is black")
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    for env_id in sys.argv[1:] or [env_id for env_id in sorted(ids()) if env_id not in _SLOW]:
        began = time.monotonic()
        print(env_id, end=" ", file=sys.stderr, flush=True)
        if found := problems(env_id):
            print(json.dumps({env_id: found}), flush=True)
        print(f"{time.monotonic() - began:.2f} s", file=sys.stderr, flush=True)
