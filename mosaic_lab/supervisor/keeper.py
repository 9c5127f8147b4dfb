"""The keeper: one small process per run that owns the run's whole life and outlives the notebook kernel.

What crosses the boundary: a launch document on stdin (see `Launch`; it holds the worker's environment, which
is never written down), an inherited descriptor that holds ``keeper.lock``, SIGTERM (stop; a second one does
no harm), ``stop.json`` (stop, with a grace period), and the files of the run folder. Standard library only,
no threads.

    queued ──► starting ──► running ──► completed | failed | cancelled
       └───────────┴────► stopping ────┘
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mosaic_lab.supervisor import processes
from mosaic_lab.supervisor.launch import Launch
from mosaic_lab.supervisor.outcome import Evidence, classify
from mosaic_lab.supervisor.record import Record
from mosaic_lab.supervisor.states import Outcome, State
from mosaic_lab.supervisor.store import RunFolder
from mosaic_lab.supervisor.tail import last_lines, last_words
from mosaic_lab.supervisor.waiting import Line, take_gpus, take_slot

TICK = 1.0  # seconds between looks at things that send no signal
QUEUE_TICK = 0.2
MEMORY_TICK = 5.0
LEFTOVER_PAUSE = 0.5  # for processes that outlive their worker to leave by themselves
LEFTOVER_GRACE = 2.5  # from the worker's end: SIGTERM to them after the pause, SIGKILL at the end of this
KILL_DEADLINE = 20.0  # after SIGKILL; beyond it a process is stuck in the kernel and is given up on


_T = TypeVar("_T")


class Stopped(Exception):
    """Somebody asked for an end before the worker was started."""


class Keeper:
    """One run's life; `live` is called once."""

    def __init__(self, folder: RunFolder, launch: Launch, lock: int) -> None:
        self.folder = folder
        self.launch = launch
        self.lock = lock
        self.stop: str | None = None  # who asked for an end
        self.stopped_by: str | None = None
        self.grace = launch.grace_seconds
        self.asked = 0.0  # monotonic time of the SIGTERM rung
        self.deleted = False
        self.worker: int | None = None
        self.exit: tuple[int | None, int | None] = (None, None)
        self.started = time.monotonic()
        self.peak_mb = 0.0
        self.cpu_seconds = 0.0
        self.memory_due = 0.0
        self.leftovers: set[int] = set()
        self.oom_before: int | None = None
        self.held: list[int] = []
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._listen()  # before the record tells anyone whom to send a signal
        self.record = Record(folder, os.getpid())

    # ------------------------------------------------------------------ life

    def live(self) -> None:
        """The whole life of the run; always reaches a final state."""
        evidence = Evidence()
        try:
            gpus = self._queue()
            evidence = self._work(gpus)
        except Stopped:
            evidence = Evidence(stop=self.stop)
        except Exception as error:
            evidence = Evidence(problem=f"the keeper failed: {type(error).__name__}: {error}")
            raise
        finally:
            self._end_processes()
            self._finish(evidence)

    def _queue(self) -> dict[int, int]:
        """Wait for GPUs, then for a slot; returns the GPUs taken."""
        slots = self.folder.path.parent / ".slots"
        gpus: dict[int, int] = {}
        count = self.launch.gpu_count
        if count is None or count > 0:
            gpus = self._wait_in(
                Line(slots, "gpu", self.folder.run_id),
                lambda: take_gpus(Path(self.launch.gpu_locks), self.launch.gpus, count),
                "a free GPU" if count == 1 else "free GPUs",
            )
        slot = self._wait_in(
            Line(slots, "run", self.folder.run_id),
            lambda: take_slot(slots, self.launch.max_running),
            f"a free place (limit {self.launch.max_running} at once)",
        )
        self.held = [slot, *gpus.values()]
        return gpus

    def _wait_in(self, line: Line, take: Callable[[], _T | None], what: str) -> _T:
        try:
            while True:
                self._check_requests()
                if self.stop is not None:
                    raise Stopped
                ahead = line.ahead()
                if ahead == 0 and (place := take()) is not None:
                    return place
                self.record.move(State.QUEUED, f"waits for {what}, {ahead} ahead in the queue")
                self._sleep(QUEUE_TICK)
        finally:
            line.leave()

    def _work(self, gpus: dict[int, int]) -> Evidence:
        environment = dict(self.launch.environment)
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in sorted(gpus))
        processes.become_subreaper()
        self.oom_before = processes.oom_kills()
        self.started = time.monotonic()
        try:
            self.worker = self._spawn(environment)
        except OSError as error:
            return Evidence(problem=f"the worker could not be started: {_cause(self.launch, error)}")
        self.record.started(self.worker, tuple(sorted(gpus)), self.started)
        self.record.move(State.STARTING, f"worker process {self.worker} was started and has not reported yet")
        while self.exit == (None, None):
            self._sleep(self._patience())
            self._reap()
            self._look()
        return self._evidence()

    def _spawn(self, environment: dict[str, str]) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        out = os.open(self.folder.telemetry_path, flags, 0o644)
        err = os.open(self.folder.log_path, flags, 0o644)
        try:
            process = subprocess.Popen(
                self.launch.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.launch.cwd,
                env=environment,
                start_new_session=True,
                preexec_fn=processes.worker_preparation(),
            )
        finally:
            os.close(out)
            os.close(err)
        process.returncode = 0  # reaped here by wait4, which also tells what the process used
        return process.pid

    # ----------------------------------------------------------------- watch

    def _patience(self) -> float:
        if self.stopped_by == "SIGTERM":
            return min(TICK, max(0.0, self.asked + self.grace - time.monotonic()))
        return QUEUE_TICK if self.record.status.state is State.STARTING else TICK

    def _look(self) -> None:
        """One look around: requests, the stop ladder, first words, memory."""
        if self.exit != (None, None):
            return
        self._check_requests()
        now = time.monotonic()
        if self.stop is not None:
            self._climb(now)
        elif self.record.status.state is State.STARTING and _size(self.folder.telemetry_path):
            self.record.move(State.RUNNING, f"worker process {self.worker} is at work")
        self.record.flush()
        if now >= self.memory_due:
            self.memory_due = now + MEMORY_TICK
            self._measure_memory()

    def _climb(self, now: float) -> None:
        """The stop ladder: SIGTERM to the worker's group, the grace period, SIGKILL to everything."""
        if self.stopped_by is None:
            self.stopped_by = "SIGTERM"
            self.asked = now
            self.record.move(
                State.STOPPING, f"{self.stop}: SIGTERM was sent, SIGKILL follows after {self.grace:g} s"
            )
            self._signal_group(signal.SIGTERM)
        elif self.stopped_by == "SIGTERM" and now >= self.asked + self.grace:
            self._measure_memory()
            self.stopped_by = "SIGKILL"
            self._signal_group(signal.SIGKILL)

    def _check_requests(self) -> None:
        """Requests that come as files: a stop (a later one may change the grace period), a deleted folder."""
        if not self.deleted and not self._folder_in_place():
            self.deleted = True
            self.record.close()
            self.stop = self.stop or "its run folder was deleted"
        if self.folder.stop_path.exists():
            self.stop = "stopped on request"
            grace = self.folder.document(self.folder.stop_path).get("grace_seconds")
            if isinstance(grace, int | float) and grace >= 0:
                self.grace = float(grace)

    def _folder_in_place(self) -> bool:
        try:
            there = self.folder.lock_path.stat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self.lock))

    def _measure_memory(self) -> None:
        self.peak_mb = max(self.peak_mb, processes.resident_mb(processes.descendants(os.getpid())))

    def _reap(self) -> bool:
        """Collect every child that has ended. False when no child is left at all."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
            self.peak_mb = max(self.peak_mb, usage.ru_maxrss / scale)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            if pid == self.worker:
                code = os.waitstatus_to_exitcode(status)
                self.exit = (code, None) if code >= 0 else (None, -code)

    # ------------------------------------------------------------------- end

    def _end_processes(self) -> None:
        """End whatever of the run is alive: a worker after a keeper's error, orphans after a worker's end."""
        if self.worker is None:
            return
        begun = time.monotonic()
        terminated = False
        while self._reap() and (elapsed := time.monotonic() - begun) < LEFTOVER_GRACE + KILL_DEADLINE:
            force = elapsed > LEFTOVER_GRACE or self.stopped_by == "SIGKILL"
            if elapsed > LEFTOVER_PAUSE and (force or not terminated):
                terminated = True
                alive = processes.descendants(os.getpid())  # not reaped yet, so these pids are nobody else's
                self.leftovers.update(alive)
                for pid in alive:
                    processes.send(pid, signal.SIGKILL if force else signal.SIGTERM)
            self._sleep(0.02)
        if sys.platform != "linux":
            processes.send_group(self.worker, signal.SIGKILL)

    def _evidence(self) -> Evidence:
        code, number = self.exit
        self._check_requests()
        self._end_processes()
        now = processes.oom_kills()
        log = last_lines(self.folder.log_path, 1)
        return Evidence(
            exit_code=code,
            signal=number,
            words=last_words(self.folder.telemetry_path),
            stop=self.stop if self.stopped_by else None,
            stopped_by=self.stopped_by,
            grace_seconds=self.grace,
            oom_kills=None if now is None or self.oom_before is None else now - self.oom_before,
            disk_full=self.folder.disk_full(),
            leftovers=len(self.leftovers - {self.worker}),
            last_log_line=log[0] if log else "",
        )

    def _finish(self, evidence: Evidence) -> None:
        state, reason = classify(evidence)
        worked = self.worker is not None
        outcome = Outcome(
            exit_code=evidence.exit_code,
            signal=evidence.signal,
            peak_memory_mb=round(self.peak_mb, 1) if worked else None,
            cpu_seconds=round(self.cpu_seconds, 3) if worked else None,
            duration_seconds=round(time.monotonic() - self.started, 3) if worked else None,
            stopped_by=evidence.stopped_by,
            evidence=evidence.ended if worked else "",
            leftovers=evidence.leftovers,
        )
        if self._folder_in_place():
            self.record.finish(state, reason, outcome)
        elif os.fstat(self.lock).st_nlink == 0:  # deleted, not moved: nor stays what the worker has put back
            shutil.rmtree(self.folder.path, ignore_errors=True)

    # --------------------------------------------------------------- signals

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, _nothing)  # a handler, not SIG_IGN: the worker must not inherit it

    def _on_stop(self, number: int, frame: object) -> None:
        self.stop = self.stop or _SIGNALLED

    def _signal_group(self, number: signal.Signals) -> None:
        """To the worker's group; the worker is not reaped yet, so its group id is its own."""
        if self.worker is not None:
            processes.send_group(self.worker, number)
        if number is signal.SIGKILL:
            for pid in processes.descendants(os.getpid()):
                processes.send(pid, number)

    def _sleep(self, seconds: float) -> None:
        """Until a signal comes or the time is over."""
        ready, _, _ = select.select([self._wake_read], [], [], seconds)
        if ready:
            os.read(self._wake_read, 4096)


_SIGNALLED = "stopped by a signal to its keeper"


def _nothing(number: int, frame: object) -> None:
    pass


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _cause(launch: Launch, error: OSError) -> str:
    program = launch.command[0]
    if not Path(program).exists():
        return f"{program} does not exist (was the worker's environment removed? install it again)"
    return f"{error.strerror or error} ({' '.join(launch.command)})"


def main() -> int:
    """``keeper RUN_FOLDER LOCK_DESCRIPTOR``: read the launch document, go into the background, live."""
    folder, lock = RunFolder(Path(sys.argv[1])), int(sys.argv[2])
    os.set_inheritable(lock, False)
    launch = Launch.from_json(sys.stdin.read())
    if os.fork():
        os._exit(0)  # tells the parent that the document has arrived; the child still holds the lock
    os.chdir("/")
    sys.stdin.close()
    os.open(os.devnull, os.O_RDONLY)  # the lowest free descriptor: 0
    Keeper(folder, launch, lock).live()
    return 0
