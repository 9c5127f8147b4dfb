"""Measure one environment in its worker's interpreter: `PYTHON environment_speed.py MODULE ENV_ID`.

Prints a line of JSON: steps and frames per second, the frame size, and a digest of the first steps, which
is the same in every process if the seed determines the environment.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from mosaic_contract import encode_line, pack
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter, adapt
from mosaic_contract.arena.environment_factory import make_with_frames
from mosaic_contract.arena.frame_publisher import seed_libraries
from mosaic_contract.codec import OPERATING_LINE_LIMIT

SECONDS = 4.0
STEPS = 200
SEED = 1


class Player:
    """Plays random legal actions, one episode after another."""

    def __init__(self, environment: EnvironmentAdapter) -> None:
        self.environment = environment
        self._episode = 0
        self._generator = random.Random(SEED)

    def step(self) -> None:
        environment = self.environment
        if not environment.turn:
            seed_libraries(SEED + self._episode)
            environment.reset(SEED + self._episode)
            self._episode += 1
        environment.step({agent: self._action(agent) for agent in environment.turn})

    def _action(self, agent: str) -> Any:
        seen = self.environment.observe(agent)
        mask, space = seen.mask, self.environment.spaces(agent)[1]
        moves = (seen.info or {}).get("legal_moves")
        if moves and isinstance(moves[0], str):
            return self._generator.choice(moves)
        if mask is None or not hasattr(space, "n"):
            return space.sample()
        legal = [number for number, allowed in enumerate(mask) if allowed]
        return int(getattr(space, "start", 0)) + self._generator.choice(legal)

    def observed(self) -> bytes:
        environment = self.environment
        seen = {agent: environment.observe(agent).observation for agent in environment.turn}
        return encode_line({"seen": pack(seen), "rewards": environment.rewards}, OPERATING_LINE_LIMIT)


def main(program: str, env_id: str) -> dict[str, Any]:
    worker = importlib.import_module(program).WORKER
    env, why_no_pictures = make_with_frames(worker.make_environment, env_id, {})
    player = Player(adapt(env, env_id))
    digest = hashlib.sha256()
    for _ in range(STEPS):
        player.step()
        digest.update(player.observed())
    found = {"digest": digest.hexdigest(), "steps": per_second(player.step)}
    if why_no_pictures:
        return {**found, "no_pictures": why_no_pictures}
    picture = player.environment.render()
    shape = [int(length) for length in picture.shape[:2]]
    return {**found, "picture": shape, "pictures": per_second(player.environment.render)}


def per_second(call: Callable[[], Any]) -> float:
    count, begin = 0, time.monotonic()
    while time.monotonic() - begin < SECONDS:
        call()
        count += 1
    return count / (time.monotonic() - begin)


if __name__ == "__main__":
    out = sys.stdout
    sys.stdout = sys.stderr  # libraries print
    result = main(*sys.argv[1:])
    print(json.dumps(result), file=out)
