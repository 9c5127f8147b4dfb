"""Exports of runs to TensorBoard and Weights & Biases, by a worker whose environment has these libraries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from mosaic_contract.programs import exit_text

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.runs.run_record import RunRecord

FORMATS = ("tensorboard", "wandb")
DEADLINE = 600.0
"""Maximum seconds without progress, after which the worker is killed."""
_LOG_LINES = 15
_SETTINGS = ("algorithm", "env_id", "seed")


def export(
    runs: Sequence[RunRecord],
    to: str,
    out: Path | str,
    progress: Callable[[str], object] = print,
    deadline: float = DEADLINE,
) -> list[Path]:
    """Export the runs to another tool below the folder ``out``. Return the path of each export.

    The worker's environment is built before the first export; ``progress`` is called with lines about it.
    ``deadline`` is the maximum number of seconds without progress. Raises ConfigurationError for an unknown
    tool, WorkerEnvironmentError if the environment cannot be built, and MosaicError if the export fails.
    """
    if to not in FORMATS:
        raise ConfigurationError(f"to={to!r}: must be {' or '.join(map(repr, FORMATS))}")
    if not runs:
        raise ConfigurationError("there are no runs to export")
    folder = Path(out).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    environment = workers.ensure("export", progress)
    command = [*environment.command(), "--export", to, "--out", str(folder)]
    with tempfile.TemporaryDirectory(prefix="mosaic-export-") as scratch:
        return _run(command, runs, Path(scratch), deadline)


def _run(command: list[str], runs: Sequence[RunRecord], scratch: Path, deadline: float) -> list[Path]:
    """Run the worker with its output in ``scratch``. Return the paths it reports."""
    answers, log = scratch / "answers.jsonl", scratch / "log"
    with answers.open("wb") as out, log.open("wb") as errors:
        worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            cwd=scratch,
            env=compose_variables(os.environ),
            start_new_session=True,
        )
    watchdog = _Watchdog(worker, deadline)
    watchdog.start()
    try:
        assert worker.stdin is not None
        _send(runs, worker.stdin, watchdog.pet)
        code = worker.wait()
    finally:
        watchdog.done.set()
        _kill(worker)  # already ended unless this process was interrupted
    paths = [Path(json.loads(line)["path"]) for line in answers.read_text().splitlines()]
    if code != 0 or len(paths) != len(runs):
        log_lines = last_lines(log, _LOG_LINES)
        ending = f"did nothing for {deadline:g} s" if watchdog.late else exit_text(code)
        summary = f"{len(paths)} of {len(runs)} runs were exported, then the export {ending}"
        raise MosaicError("\n".join([summary, *log_lines]))
    return paths


class _Watchdog(threading.Thread):
    """Kills a worker that makes no progress for ``deadline`` seconds, until ``done`` is set."""

    def __init__(self, worker: subprocess.Popen[bytes], deadline: float) -> None:
        super().__init__(name="mosaic-export", daemon=True)
        self.done = threading.Event()
        self.late = False
        self._worker = worker
        self._deadline = deadline
        self._last_progress = time.monotonic()

    def pet(self) -> None:
        """Record that the worker has made progress."""
        self._last_progress = time.monotonic()

    def run(self) -> None:
        while (remaining := self._last_progress + self._deadline - time.monotonic()) > 0:
            if self.done.wait(remaining):
                return
        self.late = True
        _kill(self._worker)


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """Kill the worker and the processes that its libraries have started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _send(runs: Sequence[RunRecord], pipe: IO[bytes], on_sent: Callable[[], None]) -> None:
    """Write all runs to the worker. Data that it no longer reads is lost."""
    with suppress(BrokenPipeError), pipe:  # the worker's exit code and log explain it
        for run in runs:
            pipe.write(_line(facts(run)))
            for point in points(run):
                pipe.write(_line(point))
                on_sent()


def facts(run: RunRecord) -> dict[str, Any]:
    """Return the description of a run that the worker is sent before its points (see
    `export_worker.exported_run`)."""
    status, config = run.status, run.config
    starts = [step.timestamp for step in status.history if step.state is State.STARTING]
    settings = {
        name: config[name] for name in ("algorithm", "env_id", "seed") if config.get(name) is not None
    }
    return {
        "id": run.id,
        "name": run.name,
        "group": run.group,
        "tags": list(run.tags),
        "notes": run.notes,
        "state": str(status.state),
        "reason": status.reason,
        "started": starts[-1] if starts else None,
        "ended": status.since if status.state.finished else None,
        "succeeded": status.state is State.COMPLETED if status.state.finished else None,
        "hyperparameters": {**run.hyperparameters, **settings, "worker": run.worker},
        "config": config,
    }


def points(run: RunRecord) -> Iterator[tuple[int, float | None, dict[str, float]]]:
    """Yield the step, Unix time (None if unknown) and values of `RunRecord.metrics`, in its order."""
    table = run.metrics()
    columns = (table[name].tolist() for name in ("step", "timestamp", "name", "value"))
    for (step, timestamp), rows in groupby(zip(*columns, strict=True), key=lambda row: row[:2]):
        values: dict[str, float] = {}
        for _, _, name, value in rows:
            if name in values:  # another line at the same step and time
                yield step, _none_if_nan(timestamp), values
                values = {}
            values[name] = value
        yield step, _none_if_nan(timestamp), values


def _none_if_nan(timestamp: float) -> float | None:
    return timestamp if timestamp == timestamp else None


def _line(content: object) -> bytes:
    return json.dumps(content, default=str).encode() + b"\n"
