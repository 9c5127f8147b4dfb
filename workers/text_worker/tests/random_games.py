"""Play every game twice with random moves from one seed and print a hash of each. Run by the tests with the
Python of the worker's environment. Arguments: ids of games (default: all)."""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time

from text_worker.games import known, make

_STEPS = 200


def walk(env_id: str, seed: int) -> str:
    """Play a game; return its outcome and a hash of its texts and rewards."""
    env = make(env_id, {}, None)
    generator, digest, steps = random.Random(seed), hashlib.sha256(), 0
    env.reset(seed=seed)
    while not env.terminations[env.agent_selection] and steps < _STEPS:
        agent = env.agent_selection
        text = env.observe(agent)
        assert text, "a turn without a text"
        moves = env.infos[agent]["legal_moves"] or ["hello"]
        env.step(generator.choice(moves))
        digest.update(f"{agent}{text}{env.rewards}".encode())
        steps += 1
    return f"{len(env.possible_agents)} players, {steps} steps, {env.rewards}, {digest.hexdigest()}"


if __name__ == "__main__":
    for env_id in sys.argv[1:] or known():
        began = time.monotonic()
        first = walk(env_id, 5)
        assert walk(env_id, 5) == first, f"{env_id}: the same seed gives another game"
        print(json.dumps([env_id, first]), flush=True)
        print(f"{env_id} {time.monotonic() - began:.2f} s", file=sys.stderr, flush=True)
