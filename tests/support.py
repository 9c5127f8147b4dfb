"""Helpers for tests of runs: waiting for conditions, small real workers, stores that clean up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import mosaic_lab as mosaic
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE
from mosaic_lab.runs import Run, RunGroup, Supervisor

PEERS = Path(__file__).with_name("peers")
MAIN = "import sys; from mosaic_lab.cli import main; sys.exit(main(sys.argv[1:]))"
"""The command line, for ``python -c``."""
PEER = [sys.executable, str(PEERS / "peer.py")]


def wait_until(condition: Callable[[], Any], timeout: float = 30.0) -> Any:
    """Wait for a condition and return its (true) value; AssertionError after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"condition not met within {timeout:g} s: {condition}"
        time.sleep(0.01)


def limited(folder: Path, *arguments: str, size: int = 2_000) -> str:
    """Return the error of `mosaic-lab` in ``folder`` when no file can exceed ``size`` bytes."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    command = [sys.executable, "-B", "-c", limit + MAIN, *arguments]  # truncated .pyc files fail other tests
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    return done.stderr


def let_sigint_through() -> None:
    """Restore SIGINT in a child (``preexec_fn``): shells start background processes with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def store(path: Path, max_running: int | None = 4) -> Iterator[Supervisor]:
    """A supervisor on its own store; at the end every run is stopped, and no process of a run may remain."""
    supervisor = Supervisor(path, max_running)
    try:
        yield supervisor
    finally:
        runs = RunGroup(run for run in supervisor.runs() if run.alive)
        runs.stop(0)
        wait_until(lambda: not marked_processes(path))
        for run in supervisor.runs():
            shutil.rmtree(run.folder.scratch_path, ignore_errors=True)  # left by runs that a test made lost


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor on the test's own store."""
    with store(tmp_path / "runs") as supervisor:
        yield supervisor


@pytest.fixture
def max_running() -> int:
    """Maximum number of concurrent runs in the store of `lab`; a module may override it."""
    return 8


@pytest.fixture
def lab(tmp_path: Path, max_running: int) -> Iterator[mosaic.Lab]:
    """A lab on the test's own store."""
    with store(tmp_path / "runs", max_running):
        lab = mosaic.Lab(tmp_path / "runs", max_running=max_running)
        yield lab
        lab.stop_all(grace=0)


def start_peer(supervisor: Supervisor, behaviour: str, *, seed: int = 1, **options: Any) -> Run:
    """Start ``peers/peer.py``; options of `Supervisor.start` go to it, the rest to the behaviour."""
    known = {"gpus", "threads", "env_vars", "pass_env_vars", "grace_seconds", "label", "group"}
    passed = {name: options.pop(name) for name in known & options.keys()}
    config = {
        "algorithm": behaviour,
        "env_id": "Peer-v0",
        "seed": seed,
        "total_timesteps": options.pop("total_timesteps", 100),
        "hyperparameters": options,
    }
    return supervisor.start(PEER, config, worker="peer", **passed)


def start_endless(supervisor: Supervisor) -> Run:
    """Start a training that continues until it is stopped."""
    return start_peer(supervisor, "train", total_timesteps=10**9, pause=0.2)


def start_learner(supervisor: Supervisor, seed: int = 1, **options: Any) -> Run:
    """Start ``peers/learner.py``, which learns along a curve; options: its hyperparameters, and ``label``."""
    label = options.pop("label", f"learner ppo CartPole-v1 seed {seed}")
    config = {
        "algorithm": "ppo",
        "env_id": "CartPole-v1",
        "seed": seed,
        "total_timesteps": 100_000,
        "hyperparameters": options,
    }
    command = [sys.executable, str(PEERS / "learner.py")]
    return supervisor.start(command, config, worker="learner", label=label)


def start_painter(supervisor: Supervisor, **options: Any) -> Run:
    """Start ``peers/painter.py``, which publishes frames; options: its hyperparameters, and ``label``."""
    config = {
        "algorithm": options.get("pattern", "flat"),
        "env_id": "Painter-v0",
        "seed": 1,
        "total_timesteps": 1_000_000,
    }
    label = options.pop("label", None)
    command = [sys.executable, str(PEERS / "painter.py")]
    return supervisor.start(command, {**config, "hyperparameters": options}, worker="painter", label=label)


def in_own_mounts(peer: str, scenario: str, folder: Path) -> dict[str, Any]:
    """Run a script of ``peers`` in its own mount namespace and return its output; its mounts end with it."""
    namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*namespace, "true"], capture_output=True).returncode
    ):
        pytest.skip("this machine allows no mount namespace")
    command = [*namespace, sys.executable, str(PEERS / peer), scenario, str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def rings_open() -> int:
    """Return the number of rings mapped by this process."""
    return Path("/proc/self/maps").read_text().count("/mosaic-lab-")


def marked_processes(path: Path) -> list[psutil.Process]:
    """Return the living processes that were started for a run in or below ``path``."""
    found = []
    for process in psutil.process_iter():
        try:
            mark = process.environ().get(RUN_DIR_VARIABLE, "")
            if (
                mark == str(path) or mark.startswith(f"{path}/")
            ) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def pretend_two_gpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an nvidia-smi that lists two GPUs on the PATH, and the GPUs' locks into the folder."""
    program = folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '0, GPU-aaaa, NVIDIA A, 8 MiB\\n1, GPU-bbbb, NVIDIA B, 9 MiB\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def at_work(run: Run) -> Run:
    """Wait until a run's worker has written output (or ended); return the run."""
    wait_until(lambda: run.state not in ("queued", "starting"))
    return run
