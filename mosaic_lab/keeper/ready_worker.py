"""The parent's side of a ready process: a worker that has imported its library and waits to be started. The
other side is `mosaic_contract.ready_process`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic_lab.keeper import processes

READY = "MOSAIC_CHILD"
"""The variable in which a warm worker passes a command its ready child: the child's pid and the descriptor of
its socket."""


class ReadyWorker:
    """A ready child of this process, which exits if it is never started."""

    def __init__(self, pid: int, descriptor: int) -> None:
        import socket  # imported here, as below: most keepers start without it

        self.pid = pid
        self._channel = socket.socket(fileno=descriptor)
        self._channel.set_inheritable(False)

    @classmethod
    def of_this_process(cls) -> ReadyWorker | None:
        """Return the child that a warm worker forked together with this process, or None."""
        child = os.environ.pop(READY, "").split()
        return cls(*map(int, child)) if child else None

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], cwd: Path, stdout: int, stderr: int
    ) -> bool:
        """Start ``command``, ``python -m MODULE ARGUMENT…``. Return False if the process has ended."""
        start = {
            "module": command[2],
            "arguments": command[3:],
            "environment": environment,
            "cwd": str(cwd),
            "descriptors": [0, 1, 2],
        }
        import socket

        processes.raise_oom_score(self.pid)
        with self._channel, Path(os.devnull).open("rb") as stdin:
            try:
                descriptors = [stdin.fileno(), stdout, stderr]
                socket.send_fds(self._channel, [json.dumps(start).encode()], descriptors)
            except OSError:
                return False
        return True
