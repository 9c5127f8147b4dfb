"""The start of a keeper: it takes over the run folder, goes into the background, and keeps the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mosaic_lab.keeper.guardian import guard
from mosaic_lab.keeper.keeper import Keeper, clear_frames
from mosaic_lab.keeper.launch import Launch
from mosaic_lab.keeper.remote_keeper import RemoteKeeper
from mosaic_lab.keeper.run_store import RunFolder


def main() -> int:
    """``keeper RUN_FOLDER LOCK_DESCRIPTOR …``: read the launch document, go into the background, live."""
    folder, lock = RunFolder(Path(sys.argv[1])), int(sys.argv[2])
    os.set_inheritable(lock, False)
    launch = Launch.from_json(sys.stdin.read())
    if launch.lifeline is not None:
        os.set_inheritable(launch.lifeline, False)
    if os.fork():
        os._exit(0)  # the parent sees that the document has arrived; the child still holds the lock
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    if launch.bridge is not None:
        RemoteKeeper(folder, launch, lock).live()
        return 0
    scratch = Path(launch.scratch)
    if not launch.starts_runs:  # a guardian would end these runs too
        guard(lock, launch.grace_seconds, scratch, lambda: clear_frames(folder.path))
    Keeper(folder, launch, lock).live()
    return 0
