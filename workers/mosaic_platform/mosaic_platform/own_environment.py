"""An environment that the platform's worker owns and acts in itself: its only action, 0, is to continue."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import BadLine, ConfigError, decode_line

from .command import command, options_of, variables
from .introduction import introduction

_STOP_SECONDS = 5.0
_END_TYPES = ("episode_end", "episode_done")


class Discrete:
    """The attributes of Gymnasium's space of one value that an arena uses."""

    n, start, shape, dtype = 1, 0, (), "int64"

    def seed(self, seed: int | None = None) -> None:
        """Do nothing: no random numbers are drawn."""

    def contains(self, value: Any) -> bool:
        return bool(value == 0)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> OwnEnvironment:
    """Start a worker with its environment; `settings` are its command-line options, such as `policy_path`."""
    worker = introduction()
    if "arena" not in worker.capabilities["modes"]:
        raise ConfigError(f"{worker.name} owns no environment: it has no commands 'reset' and 'step'")
    options = {"run-id": worker.name, "task": env_id, "env-id": env_id, **options_of(worker, settings)}
    env = OwnEnvironment(command(worker, options, "--interactive"), worker.name)
    try:
        env.reset()  # the worker makes its environment only now
    except RuntimeError as error:
        env.close()
        raise ConfigError(f"environment {env_id!r} cannot be made here: {error}") from None
    return env


class OwnEnvironment:
    """Gymnasium's interface on the commands "reset" and "step". All observations are 0."""

    render_mode = "rgb_array"

    def __init__(self, words: list[str], name: str) -> None:
        self.observation_space = self.action_space = Discrete()
        self._name = name
        self._picture: Any = None
        self._process = subprocess.Popen(
            words, env=variables(Path.cwd()), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self._ask({"cmd": "reset", **({} if seed is None else {"seed": seed})}, "ready")
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Let the worker act once; "action" in the info is its action."""
        answer = self._ask({"cmd": "step"}, "step")
        ended, cut = (answer.get(name) is True for name in ("terminated", "truncated"))
        return 0, float(answer["reward"]), ended, cut, {"action": answer.get("action")}

    def render(self) -> Any:
        """Return the picture (height, width, 3) uint8 that came with the latest answer."""
        if self._picture is None:
            raise RuntimeError(f"{self._name} sends no pictures")
        return import_module("numpy").asarray(self._picture, "uint8")

    def close(self) -> None:
        with suppress(OSError):
            self._send({"cmd": "stop"})
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self._process.kill()
        self._process.communicate()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, message: Mapping[str, Any], answer_type: str) -> dict[str, Any]:
        """Send a command and return its answer; skip greetings and ends of episodes."""
        assert self._process.stdout is not None
        self._send(message)
        for line in self._process.stdout:
            with suppress(BadLine):
                answer = decode_line(line)
                if answer.get("type") == "error":
                    raise RuntimeError(f"{self._name} on {message['cmd']!r}: {answer.get('message')}")
                if answer.get("type") == answer_type:
                    payload = answer.get("render_payload")
                    self._picture = payload.get("rgb") if isinstance(payload, dict) else None
                    return answer
        raise RuntimeError(f"{self._name} has ended (exit code {self._process.wait()})")
