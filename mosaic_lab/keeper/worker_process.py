"""The worker's process, new or a ready fork of a warm worker, and its descendants: its keeper's children."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mosaic_lab.keeper import processes
from mosaic_lab.keeper.files import open_for_appending
from mosaic_lab.keeper.run_store import RunFolder

READY = "MOSAIC_CHILD"
"""The variable in which a warm worker passes a command its ready child: the child's pid and the descriptor of
its socket."""
# These free shared memory once the processes that they serve have ended, so they are ended last.
JANITORS = (b"multiprocessing.resource_tracker", b"torch_shm_manager")
TERM_AFTER = 0.5  # seconds from the worker's end to SIGTERM for remaining processes
KILL_AFTER = 2.5  # the same to SIGKILL
KILL_DEADLINE = 20.0  # seconds after SIGKILL; a process that remains is stuck in the kernel


class ReadyWorker:
    """A ready child of this process: it has imported its library and exits if it is never started.

    The other side is `mosaic_contract.ready_process`. `start` is a copy of its `send_start`, because keepers
    start without the contract, whose imports take longer than theirs.
    """

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


class WorkerProcess:
    """A process in its own session and the run's folder, with its output appended to files there.

    ``scratch`` is created for its temporary files and removed afterwards. On Linux the calling process adopts
    every orphaned descendant, and a pid stays reserved until `reap` collects it, so a signal cannot reach
    another process; descendants of a worker that ``starts_runs`` are not adopted. A worker that is ``ready``
    is started in place of a new process. Raises OSError if the program cannot be started.
    """

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        folder: RunFolder,
        scratch: Path,
        *,
        starts_runs: bool = False,
        ready: ReadyWorker | None = None,
    ) -> None:
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.peak_mb = 0.0
        self.cpu_seconds = 0.0
        self.leftovers: set[int] = set()
        self.warm = False
        self.oom_kills_before = processes.oom_kills()
        self.started = time.monotonic()
        self.helpers: set[int] = set()
        """Children of this process that do not belong to the worker."""
        self._scratch = scratch
        self._ready = ready
        if not starts_runs:
            processes.become_subreaper()
        scratch.mkdir(mode=0o700)
        try:
            # Runs that outlive this one must not store temporary files in its folder.
            names = () if starts_runs else ("TMPDIR", "TMP", "TEMP")
            self.pid = self._spawn(command, environment | dict.fromkeys(names, str(scratch)), folder)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    def _spawn(self, command: list[str], environment: dict[str, str], folder: RunFolder) -> int:
        telemetry, log = folder.telemetry_path, folder.log_path
        with open_for_appending(telemetry) as stdout, open_for_appending(log) as stderr:
            if self._ready is not None and self._ready.start(
                command, environment, folder.path, stdout.fileno(), stderr.fileno()
            ):
                self.warm = True
                return self._ready.pid
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=folder.path,
                env=environment,
                start_new_session=True,
                preexec_fn=processes.worker_preparation(),
            )
        process.returncode = 0  # reaped with wait4, which also reports resource usage
        return process.pid

    @property
    def ended(self) -> bool:
        return self.exit_code is not None or self.signal is not None

    @property
    def oom_kills(self) -> int | None:
        """Processes of this control group killed by the out-of-memory killer so far; None if unknown."""
        now = processes.oom_kills()
        return None if now is None or self.oom_kills_before is None else now - self.oom_kills_before

    def reap(self) -> bool:
        """Collect all children that have ended. Return False if no child remains."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid in self.helpers:
                self.helpers.remove(pid)
                continue
            scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
            self.peak_mb = max(self.peak_mb, usage.ru_maxrss / scale)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            if pid == self.pid:
                code = os.waitstatus_to_exitcode(status)
                self.exit_code, self.signal = (code, None) if code >= 0 else (None, -code)

    def measure(self) -> processes.ProcessUsage | None:
        """Return the total resource use of all processes and update the peak; None without /proc."""
        living = processes.usage_below(os.getpid(), self.helpers)
        if living is None:
            return None
        self.peak_mb = max(self.peak_mb, living.memory_mb)
        return living._replace(cpu_seconds=self.cpu_seconds + living.cpu_seconds)

    def terminate(self) -> None:
        """Send SIGTERM to the worker's group, and resume a suspended worker so that it is received."""
        if not self.ended:
            processes.send_group(self.pid, signal.SIGTERM)
            processes.send_group(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to all descendants except the janitors, which `end_all` ends."""
        if sys.platform != "linux" and not self.ended:
            processes.send_group(self.pid, signal.SIGKILL)
        for pid in processes.descendants(os.getpid()):
            if not any(name in processes.command_line(pid) for name in JANITORS):
                processes.send(pid, signal.SIGKILL)

    def end_all(self, pause: Callable[[float], None], *, patient: bool) -> None:
        """End all living descendants. Unless ``patient``, SIGKILL is sent without a preceding SIGTERM."""
        expected = {self.pid, *self.helpers}
        ended = end_descendants(self.reap, pause, TERM_AFTER, KILL_AFTER if patient else TERM_AFTER)
        self.leftovers |= ended - expected
        if sys.platform != "linux":
            processes.send_group(self.pid, signal.SIGKILL)
        shutil.rmtree(self._scratch, ignore_errors=True)


def end_descendants(
    reap: Callable[[], bool], pause: Callable[[float], None], term_after: float, kill_after: float
) -> set[int]:
    """Wait for the descendants of this subreaper to end. Return the pids of those signalled.

    They get SIGTERM after ``term_after`` seconds and SIGKILL after ``kill_after`` seconds. ``reap`` collects
    ended children and returns whether any child remains.
    """
    started = time.monotonic()
    terminated = False
    ended: set[int] = set()
    while reap() and (elapsed := time.monotonic() - started) < kill_after + KILL_DEADLINE:
        force = elapsed > kill_after
        if force or (elapsed > term_after and not terminated):
            terminated = True
            for pid in processes.descendants(os.getpid()):
                ended.add(pid)
                processes.send(pid, signal.SIGKILL if force else signal.SIGTERM)
        pause(0.02)
    return ended
