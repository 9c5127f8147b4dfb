"""A training, an operator, and the worker's own environment."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from gym_gui.config.paths import VAR_TRAINER_DIR, ensure_var_directories
from gym_gui.core.worker import TelemetryEmitter
from gym_gui.logging_config.log_constants import LOG_WORKER_WALKER_STARTED

LENGTH = 5


def train(config, seed):
    """Walk `total_timesteps` steps in episodes of ten; each step climbs by the stride less the wind."""
    ensure_var_directories()
    emitter = TelemetryEmitter(config.run_id)
    emitter.run_started({"algo": config.algo, "env_id": config.env_id}, constant=LOG_WORKER_WALKER_STARTED)
    print("walking from", Path.cwd())  # not a message of the protocol
    stride, fail_at = config.parameters.get("stride", 1.0), config.parameters.get("fail_at")
    stride -= config.weather.wind
    begun = Path(VAR_TRAINER_DIR, "begin.json")
    begun.write_text("{}")
    print(f"[CHECKPOINT] path={os.path.relpath(begun)}", flush=True)  # as some of the platform's workers do
    for step in range(1, config.total_timesteps + 1):
        if step == fail_at:
            emitter.run_failed({"error": "the path has ended", "error_type": "PathError"})
            return 1
        if step % 10 == 0:
            emitter.heartbeat({"step": step, "episode": step // 10, "height": step * stride, "seed": seed})
            values = {"climbed": step * stride, "sky": "blue", "wind": {"speed": config.weather.wind}}
            print(json.dumps({"event": "metrics", "payload": {"step": step, "values": values}}), flush=True)
            episode = {"type": "episode", "total_reward": step * stride, "steps": 10, "terminated": True}
            print(json.dumps(episode), flush=True)
            time.sleep(0.001)  # keeps the output small until a test stops a long training
    saved = Path(VAR_TRAINER_DIR, "walk.json")
    saved.write_text(json.dumps(config.to_dict()))
    emitter.checkpoint_saved(
        {"checkpoint_path": str(saved), "step": step, "metrics": {"height": step * stride}}
    )
    emitter.run_completed({"status": "completed", "final_metrics": {"height": step * stride}})
    return 0


class Walker:
    """Answers commands as an operator, and walks its own corridor of five steps at random."""

    def __init__(self, run_id, seed, task):
        self.run_id, self.random, self.episode, self.task = run_id, random.Random(seed), -1, task
        self.actions = range(2)

    def init_agent(self, command):
        self.actions = range(command["action_space"]["n"])
        return {"type": "agent_ready", "player_id": command["player_id"], "mode": "action_selector"}

    def select_action(self, command):
        action = self.random.choice(command.get("info", {}).get("legal_moves") or self.actions)
        return {"type": "action_selected", "player_id": command["player_id"], "action": action}

    def reset(self, command):
        if self.task not in ("Corridor", "CartPole-v1"):
            return {"type": "error", "message": f"Reset failed: no environment {self.task!r}"}
        self.random.seed(command.get("seed"))
        self.place, self.steps, self.episode = 0, 0, self.episode + 1
        return {"type": "ready", "seed": command.get("seed"), "episode_index": self.episode, **self.picture()}

    def step(self, command):
        move = self.random.choice([-1, 1, 1])
        self.place, self.steps = max(0, self.place + move), self.steps + 1
        done = self.place == LENGTH
        answer = {"type": "step", "action": move, "reward": -1.0, "terminated": done, "truncated": False}
        print(json.dumps({**answer, **self.picture()}), flush=True)
        return {"type": "episode_end", "episode_return": -self.steps} if done else None

    def picture(self):
        row = [[255, 255, 255] if x == self.place else [0, 0, 0] for x in range(LENGTH + 1)]
        return {"render_payload": {"mode": "rgb", "rgb": [row] * 2, "width": LENGTH + 1, "height": 2}}

    def serve(self):
        print(json.dumps({"type": "init", "run_id": self.run_id}), flush=True)
        known = {"init_agent", "select_action", "reset", "step"}
        for line in sys.stdin:
            command = json.loads(line)
            name = command.get("cmd")
            if name == "stop":
                print(json.dumps({"type": "stopped"}), flush=True)
                return
            if name == "ping":
                answer = {"type": "pong"}
            elif name in known:
                answer = getattr(self, name)(command)
            else:
                answer = {"type": "error", "message": f"Unknown command: {name}"}
            if answer is not None:
                print(json.dumps(answer), flush=True)
