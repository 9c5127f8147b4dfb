"""Check a configuration with its worker before a run is created.

The worker prints the resolved configuration and exits. It has a deadline and a temporary folder, and ends
with this process (see `die_with_parent`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
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
from mosaic_lab.keeper.processes import lives, place, start_time
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import final_message, last_lines

DEADLINE = 60.0
_END_DEADLINE = 30.0  # seconds for killed processes to disappear
_LONGEST_ANSWER = 1 << 20
_DIE_WITH_PARENT = Path(die_with_parent.__file__)


def dry_run(
    command: Sequence[str],
    config: Mapping[str, Any],
    variables: Mapping[str, str],
    deadline: float = DEADLINE,
) -> dict[str, Any]:
    """Return the configuration as resolved by the worker within ``deadline`` seconds.

    Raises ConfigurationError with the worker's message if it refuses the configuration (EnvironmentMissing if
    the environment is not installed there), and MosaicError if it cannot check it.
    """
    prefix = f"{_prefix()}{os.getpid()}-{start_time(os.getpid())}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = RunFolder(Path(name))
        run_fields = {"run_id": "dry-run", "run_dir": name}
        folder.config_path.write_text(json.dumps({**config, **run_fields}), encoding="utf-8")
        full_command = [*command, "--config", str(folder.config_path), "--dry-run"]
        code = _run(full_command, variables, folder, deadline)
        if code == 0:
            return _resolved(folder.telemetry_path)
        final = final_message(folder.telemetry_path)
        error = own_message(final)
        if error and code == 2:
            missing = error_type(final) == EnvironmentMissing.__name__
            raise (EnvironmentMissing if missing else ConfigurationError)(error)
        said = "\n".join(last_lines(folder.log_path, 15)) or error
        raise MosaicError(f"the worker could not check the configuration (exit code {code}):\n{said}")


def sweep() -> None:
    """Remove the folders of dry runs whose process was killed before it could remove them."""
    name = re.compile(rf"{_prefix()}(\d+)-(\d+)-\w+")
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        owner = name.fullmatch(folder.name)
        if owner and not lives(int(owner[1]), int(owner[2])):
            shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    """Return the prefix of dry-run folders in this boot and process namespace, where their pids are valid."""
    return f"mosaic-check-{hashlib.sha256(place().encode()).hexdigest()[:8]}-"


def _run(command: list[str], variables: Mapping[str, str], folder: RunFolder, deadline: float) -> int:
    """Return the command's exit code, or -N if signal N ended it."""
    with folder.keeper_log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", str(_DIE_WITH_PARENT), str(folder.path), *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**variables, "CUDA_VISIBLE_DEVICES": ""},
            start_new_session=True,
        )
    assert process.stdin is not None
    with process.stdin:
        try:
            process.wait(deadline)
        except subprocess.TimeoutExpired:
            late = f"the worker did not check the configuration in {deadline:g} s"
            raise MosaicError("\n".join([late, *last_lines(folder.log_path, 15)])) from None
        finally:
            _end(process)
    end = folder.document(folder.path / END)
    if "problem" in end:
        raise MosaicError(f"the worker could not be started: {end['problem']}")
    if not isinstance(code := end.get("code"), int):
        lines = last_lines(folder.keeper_log_path, 15)
        raise MosaicError("\n".join(["the worker's check of the configuration was ended", *lines]))
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
