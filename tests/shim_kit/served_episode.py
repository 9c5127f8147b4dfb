"""Play recorded actions in a served environment: `served_episode.py`, with a worker's interpreter.

Reads {env_id, command, seed, actions} from stdin and prints the `digest` of each observation that was acted
on, with the reward of the action.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from mosaic_contract import pack, unpack
from mosaic_contract.environment_server.gymnasium_environment import make_served


def digest(observation: Any) -> str:
    """Return a short text that is the same for equal observations only."""
    return hashlib.sha256(json.dumps(pack(observation), sort_keys=True).encode()).hexdigest()[:12]


def main() -> None:
    given = json.load(sys.stdin)
    env = make_served({"worker": "test", "command": given["command"]}, given["env_id"], {}, None)
    observation, _ = env.reset(seed=given["seed"])
    played = []
    for action in unpack(given["actions"]):
        seen = digest(observation)
        observation, reward, *_ = env.step(action)
        played.append([seen, reward])
    print(json.dumps(played))


if __name__ == "__main__":
    main()
