"""Interrupt calls of served environments: `python interrupted_calls.py FOLDER`.

Interrupts the training while it waits for an answer, and prints the missions that are then observed by the
next step, by the next reset, and by another environment of the same process; also the mission of the next
step after an interruption while the training read an answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium

ID = "interrupted_calls:Missions-v0"
GO, INTERRUPT = range(2)
NOTICED = Path("noticed")


class Missions(gymnasium.Env[Any, Any]):
    """The action is the next mission. INTERRUPT also interrupts the training and waits until it notices."""

    observation_space = gymnasium.spaces.Dict({"mission": gymnasium.spaces.Text(10)})
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.seen(options["action"]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.seen(action), 1.0, False, False, {}

    def seen(self, action: int) -> dict[str, str]:
        if action == INTERRUPT and not NOTICED.exists():
            os.kill(os.getppid(), signal.SIGUSR1)
            while not NOTICED.exists():
                time.sleep(0.01)
        return {"mission": ("go", "stop")[action]}


class Interrupted(Exception):
    pass


def interrupt(*_: Any) -> None:
    raise Interrupted


@contextmanager
def interrupted() -> Iterator[None]:
    """Run a block that ends when its environment call is interrupted."""
    NOTICED.unlink(missing_ok=True)
    with suppress(Interrupted):
        yield
    NOTICED.touch()


def missions(folder: str) -> list[str]:
    from mosaic_contract.environment_server import client
    from mosaic_contract.environment_server.served import begin_steps, make_served

    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.chdir(folder)
    signal.signal(signal.SIGUSR1, interrupt)
    server = {"worker": "sb3", "command": [sys.executable, "-m", "sb3_worker.cli"]}
    first, second = environments = [make_served(server, ID, {}, None) for _ in range(2)]
    go, stop = ({"options": {"action": action}} for action in (GO, INTERRUPT))
    first.reset(**go)
    with interrupted():
        first.step(INTERRUPT)
    seen = [first.step(INTERRUPT)[0]]
    first.reset(**go)
    with interrupted():
        first.reset(**stop)
    seen.append(first.reset(**stop)[0])
    second.reset(**go)
    with interrupted():
        begin_steps(environments, [INTERRUPT, INTERRUPT])
        first.step(INTERRUPT)
    first.reset(**stop)
    seen.append(second.step(INTERRUPT)[0])
    first.step(GO)
    with suppress(Interrupted), mock.patch.object(client, "decode_line", interrupt):
        first.step(INTERRUPT)
    seen.append(first.step(INTERRUPT)[0])
    return [observation["mission"] for observation in seen]


if __name__ == "__main__":
    print(json.dumps(missions(sys.argv[1])))
else:
    gymnasium.register("Missions-v0", Missions)
