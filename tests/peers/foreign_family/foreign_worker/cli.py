"""python -m foreign_worker.cli --run-id ID --interactive [--seed N]

Refuses every message that deviates from the plain protocol; logs received messages to stderr.
"""

from __future__ import annotations

import argparse
import json
import random
import sys


class Player:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.space = self.observations = None

    def init_agent(self, command):
        settings = command["settings"]
        self.space, self.observations = command["action_space"], command["observation_space"]
        for name in ("action_space", "observation_space", "action_meanings"):
            if settings.get(name) != command.get(name):
                raise ValueError(f"the settings have another {name}")
        return {"type": "agent_initialized", "player_id": command["player_id"]}

    def select_action(self, command):
        self.check(command["observation"])
        mask, legal = command.get("action_mask"), command.get("info", {}).get("legal_moves")
        if mask is not None and (not all(type(bit) is int and bit in (0, 1) for bit in mask) or not legal):
            raise ValueError(f"not a mask with its legal moves: {mask!r:.100}, {legal!r}")
        if self.space["type"] == "Discrete":
            action = self.random.choice(legal or range(self.space["n"]))
        else:
            low, high = self.space["low"], self.space["high"]
            action = [self.random.uniform(low, high) for _ in range(self.space["shape"][0])]
        return {"type": "action_selected", "player_id": command["player_id"], "action": action}

    def check(self, observation):
        kind = self.observations["type"]
        if kind == "Discrete":
            good = type(observation) is int
        elif kind == "Dict":
            good = set(observation) == set(self.observations["spaces"])
            good = good and all(isinstance(part, list) for part in observation.values())
        else:
            good = len(observation) == self.observations["shape"][0]
            good = good and all(isinstance(number, (int, float)) for number in observation)
        if not good:
            raise ValueError(f"not an observation of {kind}: {observation!r:.200}")


def answer(player, command):
    cmd = command.get("cmd")
    if cmd == "ping":
        return {"type": "pong"}
    if cmd in ("init_agent", "select_action"):
        return getattr(player, cmd)(command)
    raise ValueError(f"unknown command: {cmd}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("--seed", type=int, help="of the moves")
    arguments = parser.parse_args()
    print("started with the seed", arguments.seed, file=sys.stderr, flush=True)
    player = Player(arguments.seed)
    print(json.dumps({"type": "init", "run_id": arguments.run_id}), flush=True)
    for line in sys.stdin:
        print(line, file=sys.stderr, end="", flush=True)
        command = json.loads(line)
        if command.get("cmd") == "stop":
            print(json.dumps({"type": "stopped"}), flush=True)
            return
        try:
            said = answer(player, command)
        except (KeyError, TypeError, ValueError) as error:
            said = {"type": "error", "message": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
