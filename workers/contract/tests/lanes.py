"""Test harness for arenas: real processes, driven as the kernel drives them."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from worker_processes import CONTRACT, PATIENCE

PEERS = Path(__file__).parent / "peers"
UNASKED = ("ask", "beat", "partial", "withdrawn", "thinking")


class Lane:
    """An arena process and the kernel's end of its pipes."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.unasked = []
        self._text = b""
        environment = {**os.environ, "PYTHONPATH": CONTRACT, "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.folder / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PEERS / "arena_family.py"), "--arena"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def send(self, cmd, **fields):
        self.process.stdin.write(json.dumps({"cmd": cmd, **fields}).encode() + b"\n")
        self.process.stdin.flush()

    def next(self):
        """Return the next message of any type; None at the end of the stream."""
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._text:
            left = until - time.monotonic()
            assert left > 0, f"no message within {PATIENCE} s; the log:\n{self.log()}"
            if select.select([self.process.stdout], [], [], left)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    return None
                self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    def wait_for(self, kind):
        """Return the next message of this type; collect unsolicited messages before it in `unasked`."""
        while True:
            message = self.next()
            assert message is not None, f"no {kind!r} before the end; the log:\n{self.log()}"
            if message["type"] == kind:
                return message
            assert message["type"] in UNASKED, message
            self.unasked.append(message)

    def do(self, kind, cmd, **fields):
        self.send(cmd, **fields)
        return self.wait_for(kind)

    def open(self, env_id, kind="opened", max_steps=None, step_timeout=None, **settings):
        fields = {"protocol": 1, "run_id": "lane", "env_id": env_id, "settings": settings}
        limits = {"max_steps": max_steps, "step_timeout": step_timeout}
        return self.do(kind, "open", **fields, **limits, folder=str(self.folder))

    def seat(self, seats, kind="seated", **operators):
        return self.do(kind, "seat", seats=seats, operators=operators)

    def reset(self, seed=1, index=0, kind="ready"):
        return self.do(kind, "reset", seed=seed, episode_index=index)

    def step(self, kind="stepped"):
        return self.do(kind, "step")

    def move(self):
        """Take a step and return its only move."""
        (move,) = self.step()["moves"]
        return move

    def episode(self):
        """Step to the end of the episode; return all steps."""
        steps = [self.step()]
        while not steps[-1]["done"]:
            steps.append(self.step())
        return steps

    def close(self):
        self.do("closed", "close")
        return self.process.wait(PATIENCE)

    def received(self, key="a"):
        """Return the messages that an operator logged as received."""
        log = (self.folder / f"operator-{key}.log").read_text().splitlines()
        return [json.loads(line) for line in log if line.startswith("{")]

    def lines(self):
        return [json.loads(line) for line in (self.folder / "telemetry.jsonl").read_text().splitlines()]

    def log(self):
        return (self.folder / "worker.log").read_text()

    def kill(self):
        """Kill the arena and its operators."""
        for pid in [self.process.pid, *self.operators()]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()

    def operators(self):
        """Return the process ids of the arena's children."""
        return children_of(self.process.pid)


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == pid and fields[0] != b"Z":
                found.append(int(stat.parent.name))
    return found


def player(deadline=None, fallback="wait", plain="", **settings):
    """Describe an operator that runs `arena_player`; `plain` holds its arguments, such as "plain seeded"."""
    command = [sys.executable, str(PEERS / "arena_player.py"), *plain.split()]
    about = {"command": command, "environment": None, "settings": settings}
    return {**about, "name": "Player", "category": "rl", "deadline": deadline, "fallback": fallback}


def in_kernel(deadline=None, fallback="wait", category="python"):
    return {**player(deadline, fallback), "command": None, "name": "Me", "category": category}


class Arenas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lane = Lane(folder.name)
        self.addCleanup(self.lane.kill)  # bound to this lane: a test may call setUp again

    def walk(self, reset=True, **operator):
        """Open the walk with one player and return the lane."""
        self.lane.open("Walk-v0")
        self.lane.seat({"agent_0": "a"}, a=player(**operator))
        if reset:
            self.lane.reset()
        return self.lane

    def wait_until(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, self.lane.log()
            time.sleep(0.02)


def usage(pid):
    """Return the number of open descriptors and the resident memory in KB."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(memory.split()[1])
