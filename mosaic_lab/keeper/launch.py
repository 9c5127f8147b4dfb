"""The launch document of a keeper, and the start of its background process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE
from mosaic_lab.keeper.run_store import RunFolder

_KEEPER = Path(__file__).with_name("__main__.py")
_DEADLINE = 60.0  # seconds for a keeper to take over, which normally takes tens of milliseconds


@dataclass(frozen=True)
class Launch:
    """The launch document: everything that a keeper needs to start its worker, passed on its stdin.

    It contains the worker's environment, so it is never written to disk.

    ``gpus`` are the candidates. ``gpu_count`` of them are reserved for this run; None: all, shared.
    ``scratch`` is the folder to create for the worker's temporary files, ``gpu_locks`` the folder of this
    machine's GPU locks. ``max_running`` limits the concurrent runs of this store (None: this run is not
    counted). ``starts_runs``: the worker starts runs, which have their own keepers and GPUs, and outlive it.
    ``lifeline`` is a descriptor whose other end is held by a process that the run must not outlive.
    ``bridge`` is the argument of `BridgeLink`, for a run on a cluster.
    """

    command: list[str]
    environment: dict[str, str]
    grace_seconds: float
    max_running: int | None
    gpus: list[int]
    gpu_count: int | None
    gpu_locks: str
    scratch: str
    starts_runs: bool = False
    lifeline: int | None = None
    bridge: dict[str, Any] | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Launch:
        return cls(**json.loads(text))


def take_new(folder: RunFolder) -> int:
    """Take the lock of a new folder. It has no keeper, but another process may be testing its lock."""
    while (lock := locks.take(folder.lock_path)) is None:
        time.sleep(0.001)
    return lock


def start_keeper(folder: RunFolder, launch: Launch, lock: int) -> None:
    """Start the keeper, and return once it has read the launch document and runs in the background. ``lock``
    is the descriptor of the run's lock. Raises MosaicError and OSError."""
    with folder.keeper_log_path.open("ab") as log:
        process = subprocess.Popen(
            keeper_command(folder, str(lock)),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=keeper_variables(folder),
            pass_fds=(lock, *([] if launch.lifeline is None else [launch.lifeline])),
            start_new_session=True,
        )
    try:
        process.communicate(launch.to_json().encode(), timeout=_DEADLINE)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        log_end = folder.keeper_log_path.read_text(errors="replace")[-2000:]
        raise MosaicError(
            f"the keeper of {folder.run_id} did not start (exit code {process.returncode}):\n{log_end}"
        )


def keeper_command(folder: RunFolder, lock: str) -> list[str]:
    """Return the command of a keeper; ``lock`` is the descriptor of the run's lock (see ``__main__.py``)."""
    import mosaic_contract  # imported here: a keeper, which reads the document, starts without it

    contract = Path(mosaic_contract.__file__).parents[1]
    python = [sys.executable, "-I", "-S", "-X", "utf8"]
    return [*python, str(_KEEPER), str(folder.path), lock, str(contract)]


def keeper_variables(folder: RunFolder) -> dict[str, str]:
    """Return the environment variables of a keeper."""
    return {"PATH": os.environ.get("PATH", os.defpath), KEEPER_VARIABLE: str(folder.path)}
