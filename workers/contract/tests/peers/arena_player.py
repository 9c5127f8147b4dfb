"""A third-party operator: `python arena_player.py [plain] [mute] [seeded] [chatty] [blind]`. plain: only the
plain protocol; mute: no reply to unknown commands; seeded: a --seed option in its help; blind: ignores
observations; chatty: additional lines, and capabilities in another format.

`settings` of init_agent: `behaviour` (see `select_action`), `action` (default 1) to play, and `at` (default
0), the call at which it misbehaves, counted from 0, or "always". Logs received commands to stderr.
"""

import json
import os
import signal
import sys
import time

PLAIN = "plain" in sys.argv
if "--help" in sys.argv:
    sys.exit("seeded" in sys.argv and print("  --seed N"))
if "seeded" in sys.argv:
    seed = sys.argv[sys.argv.index("--seed") + 1] if "--seed" in sys.argv else None
    print(json.dumps({"cmd": "started", "seed": seed}), file=sys.stderr, flush=True)
agents, calls = {}, 0


def answer(message, times=1):
    data = times * (json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(1, data) :]


def act(command, settings, times=1, **changes):
    message = {"type": "action_selected", "player_id": command["player_id"]}
    extra = {"action_str": "as ever", "reasoning": "why not", "input_tokens": 3, "output_tokens": 4}
    answer({**message, "action": settings.get("action", 1), **extra, **changes}, times)


def select_action(command):
    global calls
    settings = agents[command["player_id"]]
    at, behaviour = settings.get("at", 0), settings.get("behaviour", "good")
    now, calls = calls, calls + 1
    if at not in ("always", now) or behaviour == "good":
        act(command, settings)
    elif behaviour == "garbage":
        os.write(1, b"banana\n")
        if settings.get("then_answer"):
            act(command, settings, action=2)
    elif behaviour == "no_action":
        answer({"type": "action_selected", "player_id": command["player_id"]})
    elif behaviour == "illegal":
        act(command, settings, action=settings.get("illegal", 99))
    elif behaviour == "wrong_agent":
        act(command, settings, player_id="no agent")
    elif behaviour == "late":
        time.sleep(settings["seconds"])
        act(command, settings, action=99 if settings.get("then") == "illegal" else 2)
    elif behaviour == "silent":
        pass
    elif behaviour == "die":
        print("the operator is about to die", file=sys.stderr)
        os._exit(3)
    elif behaviour == "error":
        answer({"type": "error", "message": "no idea", "error_type": "Confused", "retryable": False})
    elif behaviour == "error_once":
        answer({"type": "error", "message": "busy", "error_type": "Busy", "retryable": True})
    elif behaviour == "twice":
        act(command, settings, times=2)
    elif behaviour == "endless":
        answer("y" * (64 << 20))
    elif behaviour == "large":
        act(command, settings, reasoning="y" * 3_000_000)


def main():
    if "chatty" in sys.argv:
        os.write(1, b"Player 0.5 (c) its author\n")
        answer({"type": "greeting"})
    for line in sys.stdin:
        command = json.loads(line)
        seen = command.get("observation") is not None
        print(json.dumps({**command, "observation": seen}), file=sys.stderr, flush=True)
        name = command["cmd"]
        if name == "select_action":
            select_action(command)
        elif name == "init_agent":
            agents[command["player_id"]] = command["settings"]
            if command["settings"].get("refuse"):
                answer({"type": "error", "message": "not with me", "error_type": "ConfigError"})
            else:
                answer({"type": "agent_initialized" if PLAIN else "agent_ready"})
            if command["settings"].get("deaf"):
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif name == "ping":
            answer({"type": "pong"})
        elif name == "stop":
            answer({"type": "stopped"})
            break
        elif "mute" in sys.argv:
            pass
        elif PLAIN:
            answer({"type": "error", "message": f"unknown command {name}"})
        elif name == "hello":
            about = {"worker": "player", "version": "0.5"}
            blind = {"ignores_observations": "blind" in sys.argv}
            capabilities = ["operate"] if "chatty" in sys.argv else blind
            answer({"type": "hello", "protocol": 1, **about, "capabilities": capabilities})
        elif name == "episode_begin" and any(settings.get("no_begin") for settings in agents.values()):
            answer({"type": "error", "message": "not today", "error_type": "Refused"})
        else:
            answer({"type": "ok"})
    if any(settings.get("deaf") for settings in agents.values()):
        time.sleep(600)


main()
