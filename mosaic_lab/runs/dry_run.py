"""Check a configuration with its worker before a run is created. The worker prints the resolved configuration
and exits. It has a deadline and a temporary folder, and ends with this process (see `die_with_parent`)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError, EnvironmentMissing, MosaicError
from mosaic_lab.keeper import die_with_parent
from mosaic_lab.keeper.die_with_parent import END
from mosaic_lab.keeper.outcome import error_type, own_message
from mosaic_lab.keeper.processes import lives, place, send, start_time
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import final_message, last_lines
from mosaic_lab.keeper.warm_workers import WarmWorker, WarmWorkers
from mosaic_lab.runs.hardware import cpu_cores

DEADLINE = 180.0  # seconds for imports and an environment, on a busy machine
_END_DEADLINE = 30.0  # seconds for killed processes to disappear
_LONGEST_ANSWER = 1 << 20
_DIE_WITH_PARENT = Path(die_with_parent.__file__)


def dry_run(
    command: Sequence[str],
    config: Mapping[str, Any],
    variables: Mapping[str, str],
    deadline: float = DEADLINE,
    warm: WarmWorkers | None = None,
) -> dict[str, Any]:
    """Return the configuration as resolved by the worker within ``deadline`` seconds, in a fork of a warm
    worker if there is one.

    Raises ConfigurationError with the worker's message if it refuses the configuration (EnvironmentMissing if
    the environment is not installed there), and MosaicError if it cannot check it.
    """
    prefix = f"{_prefix()}{os.getpid()}-{start_time(os.getpid())}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = RunFolder(Path(name))
        run_fields = {"run_id": "dry-run", "run_dir": name}
        folder.config_path.write_text(json.dumps({**config, **run_fields}), encoding="utf-8")
        full_command = [*command, "--config", str(folder.config_path), "--dry-run"]
        worker = None if warm is None else warm.find(command, variables)
        code = _run(full_command, variables, folder, deadline, worker)
        if code == 0:
            return _resolved(folder.telemetry_path)
        final = final_message(folder.telemetry_path)
        error = own_message(final)
        if error and code == 2:
            missing = error_type(final) == EnvironmentMissing.__name__
            raise (EnvironmentMissing if missing else ConfigurationError)(error)
        log_text = "\n".join(last_lines(folder.log_path, 15)) or error
        raise MosaicError(f"the worker could not check the configuration (exit code {code}):\n{log_text}")


def remove_abandoned() -> None:
    """Remove the folders of dry runs whose process was killed before it could remove them."""
    name = re.compile(rf"{_prefix()}(\d+)-(\d+)-\w+")
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        owner = name.fullmatch(folder.name)
        if owner and not lives(int(owner[1]), int(owner[2])):
            shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    """Return the prefix of dry-run folders in this boot and process namespace, where their pids are valid."""
    return f"mosaic-check-{hashlib.sha256(place().encode()).hexdigest()[:8]}-"


def _run(
    command: list[str],
    variables: Mapping[str, str],
    folder: RunFolder,
    deadline: float,
    warm: WarmWorker | None,
) -> int:
    """Return the command's exit code, or -N if signal N ended it."""
    python = [sys.executable, "-I", "-S", "-X", "utf8"]
    full_command = [*python, str(_DIE_WITH_PARENT), str(folder.path), *command]
    environment = {**variables, "CUDA_VISIBLE_DEVICES": ""}
    stdin, end_of_stdin = os.pipe()
    life, held = os.pipe()  # held open by the process, which need not be a child of this one, until it ends
    child = None
    with folder.keeper_log_path.open("wb") as log, os.fdopen(end_of_stdin, "wb"), os.fdopen(life, "rb"):
        with os.fdopen(stdin, "rb"), os.fdopen(held, "wb"):
            descriptors = [stdin, log.fileno(), log.fileno(), held]
            pid = None if warm is None else warm.spawn([full_command], environment, descriptors)
            if pid is None:
                child = subprocess.Popen(
                    full_command,
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    pass_fds=[held],
                    start_new_session=True,
                )
                pid = child.pid
        try:
            if not _ended(life, deadline):
                raise MosaicError(_late(deadline, last_lines(folder.log_path, 15)))
        finally:
            _end(pid, life)
            if child is not None:
                child.wait()
    end = folder.document(folder.path / END)
    if "problem" in end:
        raise MosaicError(f"the worker could not be started: {end['problem']}")
    if not isinstance(code := end.get("code"), int):
        lines = last_lines(folder.keeper_log_path, 15)
        raise MosaicError("\n".join(["the worker's check of the configuration was ended", *lines]))
    return code


def _late(deadline: float, log: Sequence[str]) -> str:
    sentence = (
        f"the worker did not check the configuration in {deadline:g} s, in which it imports its library and "
        f"makes the environment. The machine may be busy (load average {os.getloadavg()[0]:.1f} on "
        f"{cpu_cores()} cores): try again when it is less so. If that fails too, an import or the "
        "environment blocks"
    )
    return "\n".join([f"{sentence}; the worker's log ends with:", *log]) if log else sentence


def _end(pid: int, life: int) -> None:
    if not _ended(life, 0.0):
        send(pid, signal.SIGTERM)
        if not _ended(life, _END_DEADLINE):
            send(pid, signal.SIGKILL)
            _ended(life, None)


def _ended(life: int, seconds: float | None) -> bool:
    """Return whether the process at the other end of the pipe ``life`` ends within these seconds."""
    poll = select.poll()
    poll.register(life, select.POLLIN)
    return bool(poll.poll(None if seconds is None else 1000 * seconds))


def _resolved(answer: Path) -> dict[str, Any]:
    with answer.open("rb") as file:
        text = file.read(_LONGEST_ANSWER).decode("utf-8", "replace")
    try:
        resolved = json.loads(text)
    except ValueError:
        resolved = None
    if not isinstance(resolved, dict):
        raise MosaicError(f"the worker's dry run printed no configuration but {text[:200]!r}")
    return resolved
