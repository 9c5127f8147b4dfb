"""Environments with 20 steps per episode, each disturbing its process in one way."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import gymnasium
import numpy as np

LENGTH = 20
EXITS_AT = 10


class Calm(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return np.full(2, self.steps / LENGTH, np.float32), 1.0, self.steps == LENGTH, False, {}


class Exits(Calm):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.steps == EXITS_AT:
            sys.exit(0)
        return super().step(action)


class Leaves(Calm):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.steps == EXITS_AT:
            os._exit(0)
        return super().step(action)


class KeepsThread(Calm):
    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        threading.Thread(target=threading.Event().wait, name="the simulator's").start()


class DeafToSigterm(Calm):
    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


class CannotClose(Calm):
    def close(self) -> None:
        raise AttributeError("there is no screen")


class Breaks(Calm):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        raise RuntimeError("the simulator is gone")


class Hangs(Calm):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.steps == EXITS_AT:
            print("the simulator hangs", flush=True)
            threading.Event().wait()
        return super().step(action)


for one in (Exits, Leaves, KeepsThread, DeafToSigterm, CannotClose, Breaks, Hangs):
    gymnasium.register(f"{one.__name__}-v0", one)
