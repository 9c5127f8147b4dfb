"""Run a command that ends with its parent: ``python -I -S …/die_with_parent.py FOLDER COMMAND…``.

stdin is a pipe that closes when the process at its other end exits; then all processes of the command are
killed and the folder is deleted. SIGTERM also kills them, but leaves the folder. The command's stdout is
written to ``telemetry.jsonl`` in the folder, stderr to ``worker.log``, and the result to ``end.json``.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.worker_process import ReadyWorker, WorkerProcess

END = "end.json"
_NUMBERS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(folder: RunFolder, command: list[str]) -> None:
    """Run the command until it ends or stdin closes."""
    heard, wake = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in _NUMBERS:
        signal.signal(number, lambda number, frame: None)
    try:
        forked = ReadyWorker.of_this_process()  # first, because it removes its variable from the environment
        worker = WorkerProcess(command, dict(os.environ), folder, folder.path / "tmp", ready=forked)
    except OSError as error:
        write_json(folder.path / END, {"problem": f"{error} ({command[0]})"})
        return
    parent_lives, stopped = True, False
    while parent_lives and not stopped and not worker.ended:
        ready, _, _ = select.select([heard, sys.stdin.fileno()], [], [])
        parent_lives = sys.stdin.fileno() not in ready
        stopped = heard in ready and set(os.read(heard, 4096)) != {signal.SIGCHLD}
        worker.reap()
    if not worker.ended:
        worker.kill()
    worker.end_all(time.sleep, patient=False)
    if parent_lives:
        code = worker.exit_code if worker.signal is None else -worker.signal
        write_json(folder.path / END, {"code": code})
    else:
        shutil.rmtree(folder.path, ignore_errors=True)


if __name__ == "__main__":
    run(RunFolder(Path(sys.argv[1])), sys.argv[2:])
