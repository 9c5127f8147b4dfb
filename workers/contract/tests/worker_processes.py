"""Test harness for worker processes: a test supplies the body of the shim's `train`."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

import mosaic_contract
from mosaic_contract import decode_line, parse_message

CONTRACT = str(Path(mosaic_contract.__file__).parent.parent)
PATIENCE = 60.0  # seconds until a test gives up; a passing test needs only a few
WORKER = """
import atexit, ctypes, os, signal, subprocess, sys, threading, time
from mosaic_contract import *

KNOWN = {"learning_rate": Parameter("learning_rate", float, 0.1, maximum=1)}

def metadata():
    return WorkerMetadata("test", "1.0", upstream_library="none"), WorkerCapabilities()

def resolve(config):
    if config.algorithm == "leaves":
        os._exit(0)
    if config.algorithm == "exits":
        sys.exit(0)
    if config.algorithm == "hook":
        atexit.register(threading.Event().wait)
    if config.algorithm == "thread":
        threading.Thread(target=threading.Event().wait, name="the simulator's").start()
    resolved = config.to_dict(check_hyperparameters(config.hyperparameters, KNOWN))
    return {**resolved, "algorithm": config.algorithm.lower()}

def train(config, telemetry):
__BODY__

sys.exit(main(Worker(metadata, resolve, train, lambda: {"ppo": list(KNOWN.values())})))
"""
LOOP = """
telemetry.metrics(1, {"loss": 0.5})
while True:
    sum(range(1000))
"""


def worker_source(body):
    indented = textwrap.indent(textwrap.dedent(body).strip() or "pass", "    ")
    return WORKER.replace("__BODY__", indented)


class WorkerProcess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = {
            "run_id": "r1",
            "algorithm": "ppo",
            "env_id": "CartPole-v1",
            "seed": 1,
            "total_timesteps": 100,
        }

    def prepare(self, body):
        (self.folder / "worker.py").write_text(worker_source(body))
        (self.folder / "config.json").write_text(json.dumps(self.config))
        return self.folder

    def start(self, body, *arguments, stdout=None, stderr=None):
        self.prepare(body)
        self.out, self.err = self.folder / "telemetry.jsonl", self.folder / "worker.log"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            process = subprocess.Popen(
                [sys.executable, "worker.py", *(arguments or ("--config", "config.json"))],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout or out,
                stderr=stderr or err,
                env={**os.environ, "PYTHONPATH": CONTRACT},
                start_new_session=True,
            )
        self.addCleanup(self.kill, process)
        return process

    def kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also ends the children of a failed test
        process.wait()

    def run_to_its_end(self, body, *arguments, **streams):
        return self.start(body, *arguments, **streams).wait(PATIENCE)

    def messages(self):
        lines = self.out.read_bytes().split(b"\n")[:-1]  # a line being written has no newline yet
        return [parse_message(decode_line(line)) for line in lines]

    def log(self):
        return self.err.read_text()

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"not true within {PATIENCE} s; log:\n{self.log()}"
            time.sleep(0.02)

    def wait_for(self, kind):
        self.wait_until(lambda: any(kind == m.KIND for m in self.messages()))

    def end(self):
        """Return the terminal event; assert that it is the only one and the last message."""
        messages = self.messages()
        assert [m.KIND for m in messages if m.TERMINAL] == [messages[-1].KIND], messages
        return messages[-1]


def alive(pid):
    """Whether a process is running; a zombie is not."""
    if Path("/proc").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
        except OSError:
            return False
    listing = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(listing.stdout.strip()) and not listing.stdout.strip().startswith("Z")
