"""A worker's environment on a node, built once by our installer, which has its own environment.

    <home>/code/<digest>/     mosaic_lab and the shims, as sent
    <home>/tools/<digest>/    the installer's requirements: uv and three small packages
    <home>/workers/<name>/    the worker's environment, as on the user's machine

`prepare` runs in the cluster's process. ``python -m mosaic_lab.engines.node_environment WORKER`` is the
installer. It prints a JSON line for each step and finally the command and a record of the environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_lab.engines.job import Job
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.processes import send_group

OUR_MODULES = {"evaluation": "mosaic_lab.evaluation"}
"""Workers that are our own modules. They run with the installer's Python and install their own
requirements."""
INSTALL_SECONDS = 1800.0
_OF_PACKAGES = ("PIP_", "UV_")  # prefixes of variables that configure package sources
_LAST = 12  # lines of a failed command shown in an error
Started = Callable[[int], None]
"""Called with the pid of each process group that builds."""


class Prepared(NamedTuple):
    """A worker on this node: its command, the variables it needs, and the record of its environment
    (`WorkerEnvironment.recorded`)."""

    command: list[str]
    variables: Mapping[str, str]
    environment: Mapping[str, Any]


def prepare(home: Path, job: Job, progress: Callable[[str], None], started: Started) -> Prepared:
    """Return how to start the job's worker, after building its environment if needed. Raises OSError and
    RuntimeError, with the last lines of the failed command."""
    python = _installer(home, job, progress, started)
    code = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(code), str(code / "workers" / "contract")])
    variables = {**_variables(job), "MOSAIC_LAB_HOME": str(home), "PYTHONPATH": paths}
    if job.worker in OUR_MODULES:
        needed = (*_OF_PACKAGES, "MOSAIC_LAB_HOME", "PYTHONPATH")
        passed = {name: value for name, value in variables.items() if name.startswith(needed)}
        return Prepared([str(python), "-m", OUR_MODULES[job.worker]], passed, {})
    result: dict[str, Any] = {}
    module = "mosaic_lab.engines.node_environment"
    for line in _lines([str(python), "-m", module, job.worker], variables, started):
        with suppress(ValueError):
            message = json.loads(line)
            if "progress" in message:
                progress(message["progress"])
            else:
                result = message
    return Prepared(result["command"], {}, result["environment"])


def _installer(home: Path, job: Job, progress: Callable[[str], None], started: Started) -> Path:
    """Return the Python of the installer's environment, created once, under a lock."""
    digest = hashlib.sha256(f"{sys.version} {sorted(job.tools)}".encode()).hexdigest()[:12]
    folder = home / "tools" / digest
    python, complete = folder / "bin" / "python", folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + INSTALL_SECONDS
    while (lock := locks.take(folder.with_suffix(".lock"))) is None:
        if time.monotonic() > deadline:
            raise RuntimeError("another run has been preparing this node for half an hour")
        progress("waiting for another run that prepares this node")
        time.sleep(0.5)
    try:
        if not complete.exists():
            progress("making the installer's environment")
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", *job.tools],
            ):
                for _ in _lines(command, _variables(job), started):
                    pass
            complete.touch()
    finally:
        os.close(lock)
    return python


def _variables(job: Job) -> dict[str, str]:
    """Return the environment variables for builds: those of this process without the cluster's Python and
    Ray, plus the package sources."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RAY_"))}
    if job.wheels is not None:
        variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": job.wheels, "UV_OFFLINE": "1"}
    return variables


def _lines(command: Sequence[str], variables: dict[str, str], started: Started) -> Iterator[str]:
    """Run a command in its own process group and yield its lines. Raises RuntimeError if it fails."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=variables,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    started(process.pid)
    deadline = threading.Timer(INSTALL_SECONDS, send_group, (process.pid, signal.SIGKILL))
    deadline.start()
    last: deque[str] = deque(maxlen=_LAST)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line.rstrip())
            yield line
        if process.wait() != 0:
            raise RuntimeError(
                f"{' '.join(command[:4])} failed (exit code {process.returncode}): " + "\n".join(last)
            )
    finally:
        deadline.cancel()


def main() -> None:
    """Install the worker named on the command line."""
    from mosaic_lab import workers
    from mosaic_lab.errors import MosaicError

    try:
        environment = workers.ensure(
            sys.argv[1], lambda line: print(json.dumps({"progress": line}), flush=True)
        )
    except MosaicError as error:
        sys.exit(str(error))
    print(json.dumps({"command": environment.command(), "environment": environment.recorded()}), flush=True)


if __name__ == "__main__":
    main()
