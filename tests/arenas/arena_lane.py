"""Kernel side of the arena protocol, for tests of environment families; the test plays for every agent."""

from __future__ import annotations

import os
import random
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from mosaic_contract import LineSplitter, decode_line, encode_line, pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT
from mosaic_contract.fastlane import FrameReader
from operators.conversation import end
from shim_kit.served_episode import digest

from mosaic_lab.keeper.environment_variables import compose_variables

SECONDS = 120.0  # the first reset of some games compiles them
INTERPRETED = "NUMBA_DISABLE_JIT"
"""Environment variable that disables Numba's compilation."""


class ArenaLane:
    """Context manager of an arena's process and its folder; on exit, process and frame ring must be gone."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._command = [*command, "--arena"]
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)
        self._lines: list[bytes] = []
        self.opened: dict[str, Any] = {}
        self.described: dict[str, Any] = {}
        """Latest description of the state, by agent."""
        self.seen: list[str] = []
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        """Of the latest episode: digests of observations, actions, and rewards summed over the agents."""

    def __enter__(self) -> ArenaLane:
        with (self.folder / "worker.log").open("wb") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env=compose_variables(os.environ, pass_env_vars={INTERPRETED} & os.environ.keys()),
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end(self.process)
        assert not os.path.lexists(self.folder / "fastlane")

    def send(self, cmd: str, **fields: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(encode_line({"cmd": cmd, **pack(fields)}, OPERATING_LINE_LIMIT))
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """Return the next message, skipping beats."""
        while (message := self._next())["type"] == "beat":
            pass
        return message

    def _next(self) -> dict[str, Any]:
        assert self.process.stdout
        while not self._lines:
            assert select.select([self.process.stdout], [], [], SECONDS)[0], f"no message; {self.log()}"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, f"the arena has ended; {self.log()}"
            self._lines = self._splitter.feed(data)
        message: dict[str, Any] = unpack(decode_line(self._lines.pop(0)))
        return message

    def do(self, kind: str, cmd: str, **fields: Any) -> dict[str, Any]:
        """Send a command and return its answer, which must be of type ``kind``."""
        self.send(cmd, **fields)
        answer = self.next()
        assert answer["type"] == kind, answer
        return answer

    def open(
        self, env_id: str, kind: str = "opened", needs: Sequence[str] = (), **settings: Any
    ) -> dict[str, Any]:
        """Open the environment and seat the test as the operator of all its agents, with these needs."""
        about = {"protocol": 1, "run_id": "lane", "folder": str(self.folder), "max_steps": None}
        self.opened = self.do(kind, "open", env_id=env_id, settings=settings, **about)
        if kind == "opened":
            me = {"command": None, "name": "test", "category": "random", "deadline": None, "fallback": "wait"}
            me["needs"] = needs
            self.do("seated", "seat", operators={"me": me}, seats=dict.fromkeys(self.opened["agents"], "me"))
        return self.opened

    def play(self, seed: int, steps: int) -> list[Any]:
        """Play at most ``steps`` steps of random legal actions; return all requests and answers."""
        generator = random.Random(seed)
        self.seen, self.actions, self.rewards = [], [], []
        seen: list[Any] = [self.do("ready", "reset", seed=seed, episode_index=0)["turn"]]
        done = False
        while not done and len(seen) <= steps:
            stepped, requested = self.step(generator)
            done = stepped["done"]
            moves = [(move["agent"], str(move["action"]), move["fault"]) for move in stepped["moves"]]
            seen.append((requested, moves, stepped["rewards"], stepped["turn"], done))
        return seen

    def step(self, generator: random.Random) -> tuple[dict[str, Any], list[Any]]:
        self.send("step")
        requested = []
        while (message := self.next())["type"] != "stepped":
            if message["type"] != "ask":
                assert message["type"] == "thinking", message
                continue
            self.described[message["agent"]] = message.get("description")
            requested.append((message["agent"], repr(message["observation"]), repr(message["action_mask"])))
            space = self.opened["spaces"][message["agent"]]["action"]
            action = sample(space, message["action_mask"], generator)
            self.send("answer", id=message["id"], action=action)
            self.seen.append(digest(message["observation"]))
            self.actions.append(action)
        self.rewards.append(sum(message["rewards"].values()))
        return message, requested

    def watched(self) -> FrameReader:
        """Return a reader that has requested frames."""
        reader = FrameReader(self.folder)
        reader.watch(60)
        return reader

    def log(self) -> str:
        return (self.folder / "worker.log").read_text()[-3000:]


def sample(space: dict[str, Any], mask: Any, generator: random.Random) -> Any:
    """Return a random action, legal if there is a mask."""
    kind = space["type"]
    if kind == "Discrete":
        legal = [n for n in range(space["n"]) if mask is None or mask[n]]
        return space["start"] + generator.choice(legal)
    if kind == "MultiDiscrete":
        return [generator.randrange(count) for count in space["nvec"]]
    if kind == "MultiBinary":
        return [generator.randrange(2) for _ in range(space["n"])]
    if kind == "Dict":
        return {name: sample(part, None, generator) for name, part in space["spaces"].items()}
    assert kind == "Box" and len(space["shape"]) == 1, space
    low, high = (
        bound if isinstance(bound, list) else [bound] * space["shape"][0]
        for bound in (_finite(space["low"], -1), _finite(space["high"], 1))
    )
    return [generator.uniform(a, b) for a, b in zip(low, high, strict=True)]


def _finite(bound: Any, instead: int) -> Any:
    return instead if isinstance(bound, str) else bound
