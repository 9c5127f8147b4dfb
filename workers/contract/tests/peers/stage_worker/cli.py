"""Command line of the stage worker: an episode of two agents, queried one after the other at each step."""

import json
import signal
import sys
import time

from mosaic_contract.fastlane import FrameWriter

from . import WRONG

AGENTS = ["left", "right"]
DISCRETE = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 3, "start": 1}
episode = {}


def send(**message):
    print(json.dumps(message), flush=True)


def do(command):
    cmd = command["cmd"]
    if cmd == "open":
        if command["env_id"] != "Stage-v0":
            raise ValueError("no such stage")
        if "leaves its frames" in WRONG:
            del FrameWriter.__del__
            FrameWriter(command["folder"])
        spaces = {} if "says no spaces" in WRONG else {"observation": DISCRETE, "action": DISCRETE}
        paradigm = "theatre" if "has a paradigm of its own" in WRONG else "parallel"
        send(type="opened", paradigm=paradigm, agents=AGENTS, spaces=dict.fromkeys(AGENTS, spaces))
        episode.update(limit=command["max_steps"])
    elif cmd == "seat":
        send(type="seated", operators={})
    elif cmd == "reset":
        episode.update(seed=0 if "forgets the seed" in WRONG else command["seed"], steps=0)
        if "hangs at reset" in WRONG:
            time.sleep(600)
        send(type="ready")
    elif cmd == "step":
        ask(0)
    elif cmd == "answer":
        if command["action"] != 2:
            raise ValueError(f"{command['action']} is masked out")
        if int(command["id"]) + 1 < len(AGENTS):
            ask(int(command["id"]) + 1)
        else:
            stepped()
    elif cmd == "close":
        send(type="closed")
        sys.exit(0)
    else:
        raise ValueError(f"unknown command {cmd}")


def ask(number):
    send(type="thinking", agent=AGENTS[number], seconds=0.25)
    send(type="ask", id=str(number), agent=AGENTS[number], observation=1, action_mask=[0, 1, 1])


def stepped():
    episode["steps"] += 1
    done = episode["steps"] == episode["limit"] and "never ends" not in WRONG
    ended = {"seed": episode["seed"], "steps": episode["steps"]} if done else None
    send(type="stepped", step_index=episode["steps"], done=done, episode=ended)


def loop():
    for line in sys.stdin:
        try:
            do(json.loads(line))
        except (ValueError, KeyError) as error:
            if "dies of errors" in WRONG:
                raise
            send(type="error", message=str(error))
    if "stays at the end of stdin" in WRONG:
        time.sleep(600)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if "--describe" in sys.argv:
        send(environments=[] if "lists nothing" in WRONG else ["Stage-v0"])
    else:
        loop()
