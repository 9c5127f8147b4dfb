"""Command line of the actor worker: conforms except for what ACTOR_MISBEHAVES lists; sends partial text."""

import json
import signal
import subprocess
import sys
import time

from . import WRONG, get_worker_metadata

ACTIONS = {"Discrete": 2, "Box": [0.5, -0.5], "MultiDiscrete": [1, 2]}
spaces = {}


def answer(command):
    cmd, player = command["cmd"], command.get("player_id")
    if cmd == "hello":
        about, capabilities = get_worker_metadata()
        name = "another" if "is another worker" in WRONG else about.name
        return {"type": "hello", "protocol": 1, "worker": name, "capabilities": capabilities.to_dict()}
    if cmd == "init_agent":
        if "needs settings" in WRONG and "checkpoint" not in command["settings"]:
            return {"type": "error", "message": "no checkpoint was given", "error_type": "ConfigError"}
        if not isinstance(player, str):
            raise ValueError("player_id must be a string")
        spaces[player] = command["action_space"]["type"]
        return {"type": "agent_initialized", "player_id": player}
    if cmd == "select_action":
        return {"type": "action_selected", "player_id": player, "action": ACTIONS[spaces[player]]}
    return {"type": {"ping": "pong", "stop": "stopped"}[cmd]} if cmd in ("ping", "stop") else ok(cmd)


def ok(cmd):
    if cmd not in ("episode_begin", "episode_end"):
        raise ValueError(f"unknown command {cmd}")
    return {"type": "ok"}


def misbehave(command, reply):
    """Return the reply, spoiled by the listed defects if it answers select_action; None for no reply."""
    if command.get("cmd") == "select_action" and reply["type"] == "action_selected":
        print(json.dumps({"type": "partial", "player_id": command["player_id"], "text": "so I"}), flush=True)
        if "answers for another" in WRONG:
            reply["player_id"] = "another"
        elif "leaves the space" in WRONG and spaces[command["player_id"]] == "Box":
            reply["action"] = [0.5, 1.5]
        elif "answers with text" in WRONG:
            reply["action"] = "left"
        elif "answers with arrays" in WRONG and spaces[command["player_id"]] == "Discrete":  # allowed
            reply["action"] = {"__ndarray__": {"dtype": "int64", "shape": [], "data": "AgAAAAAAAAA="}}
        elif "says nothing" in WRONG:
            return None
        elif "prints" in WRONG:
            print("loading weights...", flush=True)
        if "leaves a helper" in WRONG:
            subprocess.Popen(["sleep", "600"], start_new_session=True)
    return reply


def loop():
    for line in sys.stdin:
        command = {}
        try:
            command = json.loads(line)
            reply = answer(command)
        except (ValueError, KeyError) as error:
            if "dies of errors" in WRONG:
                raise
            kind = {} if "gives no error_type" in WRONG else {"error_type": type(error).__name__}
            reply = {"type": "error", "message": str(error), **kind}
        reply = misbehave(command, reply)
        if reply is not None:
            print(json.dumps(reply), flush=True)
        if command.get("cmd") == "stop":
            return
    if "stays at the end of stdin" in WRONG:
        time.sleep(600)


if __name__ == "__main__":
    if "ignores SIGTERM" in WRONG:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    loop()
