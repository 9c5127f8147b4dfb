"""An environment whose step does nothing, and the speed of stepping it served: `empty_environment.py`.

Prints the median microseconds of a step of one environment, and of each of 16 that are stepped together.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import gymnasium
import numpy as np

OBSERVATION = np.zeros(4, np.float32)


class Empty(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return OBSERVATION, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return OBSERVATION, 1.0, False, False, {}


def microseconds(count: int, batches: int = 50, steps: int = 400) -> float:
    """Return the median over batches of so many steps of `count` environments."""
    from mosaic_contract.environment_server.served import begin_steps, make_served

    server = {"worker": "sb3", "command": [sys.executable, "-m", "sb3_worker.cli"]}
    environments = [make_served(server, "empty_environment:Empty-v0", {}, None) for _ in range(count)]
    for env in environments:
        env.reset(seed=1)
    measured, actions = [], [1] * count
    for _ in range(batches):
        began = time.perf_counter()
        for _ in range(steps):
            begin_steps(environments, actions)
            for env in environments:
                env.step(1)
        measured.append(time.perf_counter() - began)
    return 1e6 * statistics.median(measured) / steps / count


if __name__ == "__main__":
    print(json.dumps([microseconds(1), microseconds(16)]))
else:
    gymnasium.register("Empty-v0", Empty)
