"""The keeper: a small process per run that manages the run's entire life and outlives the notebook kernel.

It reads a launch document from stdin (see `Launch`; it contains the worker's environment, which is never
written to disk), inherits a descriptor that holds ``keeper.lock``, and stops its run on SIGTERM (a second one
has no effect) or when ``stop.json`` appears, which may set another grace period. It uses only the standard
library and the contract, and no threads.

    queued ──► starting ──► running ──► completed | failed | cancelled
       └───────────┴────► stopping ────┘
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.launch import Launch
from mosaic_lab.keeper.locks import LockedFolder
from mosaic_lab.keeper.logs import BoundedLog
from mosaic_lab.keeper.outcome import Evidence, classify
from mosaic_lab.keeper.run_store import RunFolder, requested_steps
from mosaic_lab.keeper.state_writer import StateWriter
from mosaic_lab.keeper.states import Outcome, State
from mosaic_lab.keeper.system_metrics import SystemMetrics
from mosaic_lab.keeper.tail import final_message, is_count, last_lines, progress, saved_at, started_config
from mosaic_lab.keeper.worker_process import ReadyWorker, WorkerProcess

TICK = 1.0  # seconds between polls of sources that send no signal
SHORT_TICK = 0.2  # the same while the run is queued and while its worker starts
# A worker may write this many bytes of telemetry, plus the rate times its run time in seconds.
MAX_TELEMETRY, TELEMETRY_RATE = 256 << 20, 1 << 20
_SIGNALLED = "stopped by a signal to its keeper"
_T = TypeVar("_T")


class Stopped(Exception):
    """Raised if a stop is requested before the worker has started."""


class Keeper:
    """Manages the life of one run. Call `live` once."""

    def __init__(
        self, folder: RunFolder, launch: Launch, lock: int, ready: ReadyWorker | None = None
    ) -> None:
        self.folder = folder
        self.launch = launch
        self.ready = ready
        self.locked = LockedFolder(folder.path, lock)
        self.stop: str | None = None  # why the run must stop
        self.why = ""  # the reason given in the stop request
        self.goal = ""  # the goal in the stop request
        self.stopped_by: str | None = None
        self.flood = ""  # why the worker was killed, if it wrote too much telemetry
        self.grace = launch.grace_seconds
        self.terminated_at = 0.0  # monotonic time of the SIGTERM
        self.worker: WorkerProcess | None = None
        self.reservations: list[int] = []  # descriptors that hold the run's slot and GPUs
        self.wakes = [lifeline] if (lifeline := launch.lifeline) is not None else []
        """Descriptors that, like signals, end a sleep."""
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._listen()  # before the record publishes the pid as a target of signals
        self.record = StateWriter(folder, os.getpid())
        self.log = BoundedLog()

    def live(self) -> None:
        """Run the worker from queue to end. Always reaches a final state."""
        evidence = Evidence()
        try:
            evidence = self._work(self._queue())
        except Stopped:
            evidence = Evidence(stop=self.stop)
        except Exception as error:
            evidence = Evidence(problem=f"the keeper failed: {type(error).__name__}: {error}")
            raise
        finally:
            if self.worker is not None:
                self.worker.end_all(self._sleep, patient=True)
                clear_frames(self.folder.path)
            self._finish(evidence)

    def _queue(self) -> dict[int, int]:
        """Wait for GPUs, then for a slot. Return the GPUs taken."""
        slots = self.folder.path.parent / ".slots"
        gpus: dict[int, int] = {}
        count = self.launch.gpu_count
        if count is None or count > 0:
            gpus = self._wait_in(
                RunQueue(slots, "gpu", self.folder.run_id),
                lambda: take_gpus(Path(self.launch.gpu_locks), self.launch.gpus, count),
                "a free GPU" if count == 1 else "free GPUs",
            )
        self.reservations = [*gpus.values()]
        if (limit := self.launch.max_running) is not None:
            slot = self._wait_in(
                RunQueue(slots, "run", self.folder.run_id),
                lambda: take_slot(slots, limit),
                f"a free slot (limit {limit} at once)",
            )
            self.reservations.append(slot)
        return gpus

    def _wait_in(self, queue: RunQueue, acquire: Callable[[], _T | None], resource: str) -> _T:
        try:
            while True:
                self._check_requests()
                if self.stop is not None:
                    raise Stopped
                ahead = queue.ahead()
                if ahead == 0 and (acquired := acquire()) is not None:
                    return acquired
                self.record.move(State.QUEUED, f"waits for {resource}, {ahead} ahead in the queue")
                self._sleep(SHORT_TICK)
        finally:
            queue.leave()

    def _work(self, gpus: dict[int, int]) -> Evidence:
        launch, folder = self.launch, self.folder
        environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        if not launch.starts_runs:  # else each of its runs gets GPUs of its own
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in sorted(gpus))
        # JAX would otherwise take 75% of the memory of a GPU that runs share.
        defaults = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if launch.gpu_count is None else {}
        try:
            worker = WorkerProcess(
                launch.command,
                defaults | launch.environment | environment,
                folder,
                Path(launch.scratch),
                starts_runs=launch.starts_runs,
                ready=self.ready,
            )
        except OSError as error:
            return Evidence(problem=f"the worker could not be started: {_cause(launch, error)}")
        self.worker = worker
        system = SystemMetrics(worker, sorted(gpus))
        self.record.started(worker.pid, tuple(sorted(gpus)), worker.started)
        origin = "was forked by a warm worker" if worker.warm else "was started"
        self.record.move(State.STARTING, f"worker process {worker.pid} {origin} and has not reported yet")
        while not worker.ended:
            self._sleep(self._patience())
            worker.reap()
            if not worker.ended:
                self._look(worker)
                system.look(self.folder)
        system.close()
        evidence = self._evidence(worker)
        system.finish(self.folder)
        return evidence

    def _patience(self) -> float:
        if self.stopped_by == "SIGTERM":
            return min(TICK, max(0.0, self.terminated_at + self.grace - time.monotonic()))
        return SHORT_TICK if self.record.status.state is State.STARTING else TICK

    def _look(self, worker: WorkerProcess) -> None:
        """Check requests, the stop ladder and the first telemetry."""
        self._check_requests()
        self._check_flood(worker)
        if self.stop is not None:
            self._climb(worker)
        elif self.record.status.state is State.STARTING and _size(self.folder.telemetry_path):
            self.record.move(State.RUNNING, f"its worker runs as process {worker.pid}")
        self.record.flush()
        self.log.bound(self.folder.log_path)

    def _check_flood(self, worker: WorkerProcess) -> None:
        """Kill a worker that would fill the disk with telemetry, far beyond what any training reports."""
        size, seconds = _size(self.folder.telemetry_path), time.monotonic() - worker.started
        if not self.flood and size > MAX_TELEMETRY + TELEMETRY_RATE * seconds:
            self.flood = (
                f"the worker wrote {size / 1e6:,.0f} MB of telemetry in {seconds:,.0f} s and was killed "
                "before it filled the disk: does it print to standard output without end?"
            )
            worker.kill()

    def _climb(self, worker: WorkerProcess) -> None:
        """Advance the stop ladder: SIGTERM to the worker's group, the grace period, SIGKILL to everything."""
        now = time.monotonic()
        if self.stopped_by is None:
            self.stopped_by = "SIGTERM"
            self.terminated_at = now
            reason = f"{self.stop}: it has {self.grace:g} s to end by itself, then it is killed"
            self.record.move(State.STOPPING, reason)
            worker.terminate()
        elif self.stopped_by == "SIGTERM" and now >= self.terminated_at + self.grace:
            worker.measure()
            self.stopped_by = "SIGKILL"
            worker.kill()

    def _check_requests(self) -> None:
        """Check for a stop request (a later one may change the grace period), for the end of the lifeline,
        and for a deleted or moved run folder: the worker's output would be lost, or would create the folder
        again."""
        path = self.locked.locate()
        if path is None:
            self.stop = self.stop or "its run folder was deleted"
        else:
            if path != self.folder.path:
                self.stop = self.stop or f"its run folder was moved to {path}"
                self.folder = self.record.folder = RunFolder(path)
            self.locked.lock_again(self.folder.lock_path)
        if self.launch.lifeline in self.wakes and _ended(self.launch.lifeline):
            self.stop = self.stop or "the process that it ran for has ended"
            self.wakes.remove(self.launch.lifeline)
        if self.folder.stop_path.exists():
            request = self.folder.document(self.folder.stop_path)
            self.why, grace = str(request.get("reason") or ""), request.get("grace_seconds")
            self.goal = str(request.get("goal") or "")
            self.stop = f"stopped on request: {self.why}" if self.why else "stopped on request"
            if isinstance(grace, int | float) and grace >= 0:
                self.grace = float(grace)

    def _evidence(self, worker: WorkerProcess) -> Evidence:
        self._check_requests()
        worker.end_all(self._sleep, patient=self.stopped_by != "SIGKILL")
        self.log.bound(self.folder.log_path)
        log = last_lines(self.folder.log_path, 1)
        return Evidence(
            exit_code=worker.exit_code,
            signal=worker.signal,
            problem=self.flood or None,
            final=final_message(self.folder.telemetry_path),
            stop=self.stop if self.stopped_by else None,
            goal=self.goal,
            stopped_by=self.stopped_by,
            grace_seconds=self.grace,
            oom_kills=worker.oom_kills,
            disk_full=self.folder.disk_full(),
            leftovers=len(worker.leftovers),
            last_log_line=log[0] if log else "",
            saved_at=saved_at(self.folder.telemetry_path),
            reached=self._reached(),
            whole_updates=self._whole_updates(),
            unread=not self.folder.telemetry_path.exists(),
        )

    def _reached(self) -> str:
        step = progress(self.folder.telemetry_path).get("step")
        total = requested_steps(self.folder.document(self.folder.config_path))
        return "" if step is None else f"at step {step:,}" + (f" of {total:,}" if total else "")

    def _whole_updates(self) -> tuple[int, int] | None:
        """Return the step at which a completed training ended and the requested step, if they differ because
        the worker planned another step or exceeded the request; else None."""
        path = self.folder.telemetry_path
        requested = requested_steps(self.folder.document(self.folder.config_path))
        planned = (started_config(path) or {}).get("steps")
        if planned is None:  # a curriculum has no worker of its own
            planned = self.folder.document(self.folder.launch_path).get("steps")
        ended = int(planned) if is_count(planned) else progress(path).get("step", 0)
        if not requested or ended == requested or (ended < requested and not is_count(planned)):
            return None
        return ended, requested

    def _finish(self, evidence: Evidence) -> None:
        state, reason = classify(evidence)
        outcome = Outcome()
        if self.worker is not None:
            outcome = Outcome(
                exit_code=evidence.exit_code,
                signal=evidence.signal,
                peak_memory_mb=round(self.worker.peak_mb, 1),
                cpu_seconds=round(self.worker.cpu_seconds, 3),
                duration_seconds=round(time.monotonic() - self.worker.started, 3),
                stopped_by=evidence.stopped_by,
                evidence=evidence.ended,
                leftovers=evidence.leftovers,
            )
        # If a deleted folder exists again, the worker or the user has restored it: record the end there.
        if self.folder.path.exists():
            self.record.finish(state, reason, outcome)

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, _nothing)  # a handler, because the worker would inherit SIG_IGN

    def _on_stop(self, number: int, frame: object) -> None:
        self.stop = self.stop or _SIGNALLED

    def _sleep(self, seconds: float) -> None:
        """Sleep until a signal arrives, a descriptor of ``wakes`` is readable or the time is over."""
        ready, _, _ = select.select([self._wake_read, *self.wakes], [], [], seconds)
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)


def _nothing(number: int, frame: object) -> None:
    pass


def _ended(lifeline: int) -> bool:
    """Return whether the other end of a pipe is closed."""
    ready, _, _ = select.select([lifeline], [], [], 0)
    return bool(ready) and not os.read(lifeline, 1)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def clear_frames(folder: Path) -> None:
    """Remove the shared memory of the worker's frames, before the run's end is recorded."""
    with suppress(Exception):  # an uninstalled or broken contract must not cost the run its outcome
        from mosaic_contract import fastlane  # imported here: it takes longer than all other imports

        fastlane.clear(folder)


def _cause(launch: Launch, error: OSError) -> str:
    program = launch.command[0]
    if not Path(program).exists():
        return f"{program} does not exist (was the worker's environment removed? install it again)"
    return f"{error.strerror or error} ({' '.join(launch.command)})"


class RunQueue:
    """A queue of runs below ``slots``. A run's ticket is named after the time of joining and the run's id.

    A ticket is valid while its run's keeper lives, and each slot and GPU is a lock: a killed keeper blocks no
    other run.
    """

    def __init__(self, slots: Path, name: str, run_id: str) -> None:
        self._folder = slots / f"{name}-line"
        self._runs = slots.parent
        self._folder.mkdir(parents=True, exist_ok=True)
        self._ticket = f"{time.time_ns():020d}~{run_id}"
        (self._folder / self._ticket).touch()

    def ahead(self) -> int:
        """Return the number of runs ahead of this one; 0 if none of them is alive. Tickets of ended runs are
        removed only at the head of the queue, which keeps polling by hundreds of runs cheap."""
        tickets = sorted(entry.name for entry in os.scandir(self._folder) if entry.name < self._ticket)
        for position, ticket in enumerate(tickets):
            run_id = ticket.partition("~")[2]
            if RunFolder(self._runs / run_id).alive():
                return len(tickets) - position
            (self._folder / ticket).unlink(missing_ok=True)
        return 0

    def leave(self) -> None:
        (self._folder / self._ticket).unlink(missing_ok=True)


def take_slot(slots: Path, count: int) -> int | None:
    """Take one of ``count`` run slots. Return a descriptor that holds it until closed, or None if all are
    taken."""
    for index in range(count):
        descriptor = locks.take(slots / f"run-{index}")
        if descriptor is not None:
            return descriptor
    return None


def take_gpus(folder: Path, candidates: Sequence[int], count: int | None) -> dict[int, int] | None:
    """Return GPUs as ``{index: descriptor}``, or None if they are taken.

    With ``count``, that many candidates are reserved for this run. Without it, all candidates are taken,
    shared with other runs that requested them.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    acquired: dict[int, int] = {}
    for index in candidates:
        if len(acquired) == count:
            break
        descriptor = locks.take(folder / f"gpu-{index}", shared=count is None)
        if descriptor is not None:
            acquired[index] = descriptor
    if len(acquired) == (len(candidates) if count is None else count):
        return acquired
    for descriptor in acquired.values():
        os.close(descriptor)
    return None
