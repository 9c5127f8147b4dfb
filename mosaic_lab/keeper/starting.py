"""Starting a keeper: from a run folder and a launch document to a process in the background."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import mosaic_contract

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.launch import Launch
from mosaic_lab.keeper.marks import KEEPER_MARK
from mosaic_lab.keeper.run_store import RunFolder

_KEEPER = Path(__file__).with_name("__main__.py")
_CONTRACT = Path(mosaic_contract.__file__).parents[1]
_DEADLINE = 60.0  # seconds for a keeper to take over; it takes some tens of milliseconds


def take_new(folder: RunFolder) -> int:
    """Take the lock of a new folder, which no process keeps but one may be testing."""
    while (lock := locks.take(folder.lock_path)) is None:
        time.sleep(0.001)
    return lock


def start_keeper(folder: RunFolder, launch: Launch, lock: int) -> None:
    """Start the keeper; return when it has the launch document and runs in the background.

    ``lock`` is the descriptor of the run's lock. Raises MosaicError and OSError.
    """
    python = [sys.executable, "-I", "-S", "-X", "utf8"]
    command = [*python, str(_KEEPER), str(folder.path), str(lock), str(_CONTRACT)]
    with folder.keeper_log_path.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ.get("PATH", os.defpath), KEEPER_MARK: str(folder.path)},
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
