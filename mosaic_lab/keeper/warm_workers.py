"""Warm workers: processes that have imported a worker's library and fork its trainings, dry runs and
operators.

A warm worker (`mosaic_contract.warm`) has the interpreter, the program and the environment variables of the
processes that it starts, and this process's limits, priority and cores. A process that needs others is
started cold. So are all runs with GPUs, on a cluster or of a library that cannot be forked, and everything on
systems other than Linux, with a single core or with less than 8 GB of free memory. A warm worker ends with
this process, after ten minutes without a request, and when a file that it has imported changes.
"""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from mosaic_contract.piped_process import request_fork
from mosaic_contract.ready_process import RUN_DIR_CHARS

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE
from mosaic_lab.keeper.launch import Launch, keeper_command, keeper_variables
from mosaic_lab.keeper.run_store import RunFolder

MOST = 3
"""Maximum number of warm workers of a process."""
LONGEST_IMPORT = 60.0
"""Seconds after which a warm worker that is still importing its library is killed."""
MIN_FREE_MB = 8_000
"""Free memory below which runs are started cold."""
_NO_GPUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ""}  # as for a run without GPUs
_LONGEST = 4096  # bytes of an answer


class WarmWorker:
    """A process that forks ``command`` with these environment variables, once it has imported its library.

    ``state`` is "unsupported" if the library cannot be forked, in which case another warm worker would refuse
    too.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self.state: Literal["importing", "ready", "unsupported", "ended"] = "importing"
        self._began = time.monotonic()
        self._inherited = _inherited()
        self._socket, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end, tempfile.TemporaryFile() as output:
            self._process = subprocess.Popen(
                [*command, "--warm", str(child_end.fileno())],
                pass_fds=[child_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=Path(command[0]).parent,
                env={**variables, **_NO_GPUS, RUN_DIR_VARIABLE: "-" * RUN_DIR_CHARS},
                start_new_session=True,
            )
        # It may end by itself, after minutes without a run.
        threading.Thread(target=self._process.wait, name="mosaic-warm-end", daemon=True).start()

    def ready(self) -> bool:
        """Return whether it can fork."""
        if self.state == "importing":
            self._receive()
        elif self._process.poll() is not None:
            self.state = "ended"
        return self.state == "ready"

    @property
    def fits(self) -> bool:
        """Whether its runs would have the limits, the priority and the cores of this process."""
        return self._inherited == _inherited()

    def spawn(
        self, commands: Sequence[Sequence[str]], variables: Mapping[str, str], descriptors: Sequence[int]
    ) -> int | None:
        """Execute ``commands`` with ``descriptors`` as 0, 1, 2, …: each is the parent of the next, and the
        last one the parent of a `ReadyWorker`. Return the first one's pid, or None if the warm worker
        refuses.

        Raises MosaicError if it does not answer.
        """
        request = {"commands": commands, "environment": variables}
        try:
            pid, answers = request_fork(self.fileno(), request, descriptors)
        except TimeoutError as error:
            self.close()
            raise MosaicError(
                f"a warm worker (process {self._process.pid}) was killed: {error}. Try again, or disable "
                "warm workers with Lab(warm=False)"
            ) from None
        answers.close()
        if pid is None:
            self.state = "ended"
        return pid

    def fileno(self) -> int:
        """Return its socket's descriptor for `mosaic_contract.piped_process`, valid as long as this object
        exists."""
        return self._socket.fileno()

    def close(self) -> None:
        """Kill it. Its forks continue."""
        self.state = "ended"
        self._process.kill()

    def __del__(self) -> None:
        self._socket.close()

    def _receive(self) -> None:
        """Read whether it can fork, once it has imported its library."""
        try:
            data = self._socket.recv(_LONGEST, socket.MSG_DONTWAIT)
        except BlockingIOError:
            if time.monotonic() - self._began < LONGEST_IMPORT:
                return
            self._process.kill()
            data = b""
        except OSError:
            data = b""
        # Contracts older than 2026-11-28 answer on this socket and are not supported.
        self.state = "ready" if data and "answers" in json.loads(data) else "unsupported"


class WarmWorkers:
    """The most recently used warm workers of this process, at most `MOST`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[tuple[Any, ...], WarmWorker] = {}  # in the order of last use
        self._cold: set[tuple[Any, ...]] = set()  # keys that no warm worker can serve
        self._pid = os.getpid()
        self.enabled = False
        """Whether processes that belong to no `Lab` may be warm: the setting of the latest `Lab`."""

    def find(self, command: Sequence[str], variables: Mapping[str, str]) -> WarmWorker | None:
        """Return the warm worker for ``command``, ``python -m PROGRAM``; None if none is ready."""
        if self._pid != os.getpid():
            return None  # a fork, which must not use its parent's sockets
        with self._lock:
            worker = self._workers.get(_key(command, variables))
            return worker if worker is not None and worker.fits and worker.ready() else None

    def prepare(self, command: Sequence[str], variables: Mapping[str, str], *, evict: bool = True) -> None:
        """Start the warm worker for ``command``, unless it exists or is impossible. ``evict``: whether the
        least recently used one may be ended to make room, unless it is importing."""
        if not _is_workers(command):
            return
        key = _key(command, variables)
        with self._lock:
            if (worker := self._workers.pop(key, None)) is not None:
                if worker.fits and (worker.ready() or worker.state == "importing"):
                    self._workers[key] = worker
                    return
                if worker.state == "unsupported":
                    self._cold.add(key)
                worker.close()
            if key not in self._cold and self._has_room(evict):
                with suppress(OSError):  # if the run cannot be started either, it says why
                    self._workers[key] = WarmWorker(command, variables)

    def _has_room(self, evict: bool) -> bool:
        """Return whether another warm worker may start, after ending one that is no longer needed."""
        if len(self._workers) < MOST:
            return True
        for key, worker in self._workers.items():
            if (worker.ready() and evict) or worker.state in ("unsupported", "ended"):
                self._workers.pop(key).close()
                return True
        return False

    def close(self) -> None:
        """Kill all of them."""
        with self._lock:
            for worker in self._workers.values():
                worker.close()
            self._workers.clear()

    def start(self, folder: RunFolder, launch: Launch, lock: int) -> bool:
        """Start the keeper of a run with a ready worker, in place of `start_keeper`.

        Return False if the run must be started cold; the next one may be warm.
        """
        alone = launch.bridge is None and launch.lifeline is None and not launch.starts_runs
        if not alone or launch.gpus or not self._possible():
            return False
        command = launch.command[:3]
        variables = {name: value for name, value in launch.environment.items() if name != RUN_DIR_VARIABLE}
        worker = self.find(command, variables)
        started = worker is not None and _start_keeper(worker, folder, launch, lock)
        self.prepare(command, variables)
        return started

    def get(self, command: Sequence[str], variables: Mapping[str, str]) -> WarmWorker | None:
        """Return the warm worker for ``command``, for `start_process`, which waits for its imports. None if
        the process must be started cold, for example while the warm workers of other programs take all
        places."""
        if not self._possible():
            return None
        self.prepare(command, variables, evict=False)
        with self._lock:
            return self._workers.get(_key(command, variables))

    def _possible(self) -> bool:
        """Return whether warm workers are possible here and now; with too little memory, end all of them."""
        if sys.platform != "linux" or self._pid != os.getpid():
            return False
        if _free_mb() < MIN_FREE_MB:
            self.close()
            return False
        return True


WARM_WORKERS = WarmWorkers()
"""The warm workers of this process."""


def _start_keeper(worker: WarmWorker, folder: RunFolder, launch: Launch, lock: int) -> bool:
    text = launch.to_json().encode()
    document, end = os.pipe()  # a pipe, because it contains the worker's variables, never written to disk
    try:
        with os.fdopen(end, "wb", buffering=0) as pipe:
            os.set_blocking(end, False)
            if pipe.write(text) != len(text):  # longer than a pipe has room for
                return False
        with folder.keeper_log_path.open("ab") as log:
            descriptors = [document, log.fileno(), log.fileno(), lock]
            guardian = keeper_command(folder, f"guard:{launch.grace_seconds}")
            keeper = keeper_command(folder, str(len(descriptors) - 1))
            return worker.spawn([guardian, keeper], keeper_variables(folder), descriptors) is not None
    finally:
        os.close(document)


def _is_workers(command: Sequence[str]) -> bool:
    """Return whether ``command`` can have a warm worker: a worker's program can, one of ours cannot."""
    return (
        len(command) == 3
        and command[1] == "-m"
        and not command[2].startswith("mosaic_lab.")
        and len(os.sched_getaffinity(0)) > 1
    )


def _key(command: Sequence[str], variables: Mapping[str, str]) -> tuple[Any, ...]:
    return (*command, *sorted(variables.items()))


def _free_mb() -> int:
    available = re.search(r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(available[1]) // 1000 if available else 0


def _inherited() -> tuple[Any, ...]:
    """Return what a forked process inherits from its parent, besides variables and files."""
    names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    umask = re.search(r"^Umask:.*", Path("/proc/self/status").read_text(), re.MULTILINE)
    return (
        [resource.getrlimit(getattr(resource, name)) for name in names],
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getaffinity(0),
        Path("/proc/self/cgroup").read_text(),
        umask and umask[0],
    )
