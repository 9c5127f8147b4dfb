"""Asking a worker whether a configuration would do, before a run is made of it.

Crosses the boundary: `dry_run`. The worker checks, prints the resolved configuration and leaves; it gets a
deadline and a throw-away folder.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.supervisor.outcome import own_message
from mosaic_lab.supervisor.tail import last_lines, last_words

DEADLINE = 60.0
_LONGEST_ANSWER = 1 << 20


def dry_run(
    command: Sequence[str],
    config: Mapping[str, Any],
    environment: Mapping[str, str],
    deadline: float = DEADLINE,
) -> dict[str, Any]:
    """The configuration as the worker resolves it.

    ``deadline``: seconds. Raises ConfigurationError with the worker's own words when it refuses, MosaicError
    when it cannot be asked.
    """
    with tempfile.TemporaryDirectory(prefix="mosaic-lab-") as name:
        folder = Path(name)
        file, answer, log = folder / "config.json", folder / "answer.jsonl", folder / "worker.log"
        file.write_text(json.dumps({**config, "run_id": "dry-run", "run_dir": name}), encoding="utf-8")
        code = _run([*command, "--config", str(file), "--dry-run"], environment, answer, log, deadline)
        if code == 0:
            return _resolved(answer)
        words = last_words(answer)
        if own_message(words) and code == 2:
            raise ConfigurationError(own_message(words))
        said = "\n".join(last_lines(log, 15)) or own_message(words)
        raise MosaicError(f"the worker could not check the configuration (exit code {code}):\n{said}")


def _run(command: list[str], environment: Mapping[str, str], out: Path, err: Path, deadline: float) -> int:
    with out.open("wb") as answer, err.open("wb") as log:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=log,
                cwd=out.parent,
                env={**environment, "CUDA_VISIBLE_DEVICES": ""},
                start_new_session=True,
            )
        except OSError as error:
            raise MosaicError(f"the worker could not be started: {error} ({command[0]})") from error
        try:
            return process.wait(deadline)
        except subprocess.TimeoutExpired:
            said = "\n".join(
                [f"the worker did not check the configuration in {deadline:g} s", *last_lines(err, 15)]
            )
            raise MosaicError(said) from None
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
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
