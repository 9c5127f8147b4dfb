"""An environment whose step does nothing, and the cost of serving it: `empty_environment.py`.

Prints the median microseconds per step for one environment and for each of 16 that are stepped together, and
the megabytes that a server uses in addition to its environment.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

ID = "empty_environment:Empty-v0"
OBSERVATION = np.zeros(4, np.float32)


class Empty(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return OBSERVATION, {"megabytes": megabytes()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return OBSERVATION, 1.0, False, False, {}


def megabytes() -> float:
    """Return the memory of this process, in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def served() -> Any:
    from mosaic_contract.environment_server.served import make_served

    server = {"worker": "sb3", "command": [sys.executable, "-m", "sb3_worker.cli"]}
    return make_served(server, ID, {}, None)


def megabytes_beside() -> float:
    """Return the memory of a server minus that of a process with only the environment."""
    alone = f"import gymnasium; print(gymnasium.make({ID!r}).reset(seed=1)[1]['megabytes'])"
    own = subprocess.run([sys.executable, "-c", alone], stdout=subprocess.PIPE, check=True)
    return float(served().reset(seed=1)[1]["megabytes"] - float(own.stdout))


def microseconds(count: int, batches: int = 50, steps: int = 400) -> float:
    """Return the time per step of `count` environments, a median over batches of `steps` steps each."""
    from mosaic_contract.environment_server.served import begin_steps

    environments = [served() for _ in range(count)]
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
    print(json.dumps([microseconds(1), microseconds(16), megabytes_beside()]))
else:
    gymnasium.register("Empty-v0", Empty)
