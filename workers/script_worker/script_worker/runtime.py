"""The lifecycle of a script: start it, read its output, stop it.

The script stays in the shim's process group, so that stopping the group stops both; its stderr is the run's
log.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any, Mapping

from mosaic_contract import Cancelled, ConfigError, Telemetry, TrainingConfig, UpstreamFailed, fastlane

from .config import variables
from .script_output import ScriptOutput
from .tensorboard_files import EventFileReader

_LOOK_SECONDS = 0.5  # between checks of event files
_STOP_SECONDS = 7.0  # for the script to save and exit: less than the grace period of a run
_LAST_LINES_SECONDS = 1.0  # for data left in the pipe after the script has ended

log = logging.getLogger(__name__)


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the script to its end and return its final metrics.

    After a signal, wait for the script to exit, and kill it if it does not. Raises `UpstreamFailed` for a
    non-zero exit status, with the script's own error message.
    """
    config.tensorboard_dir.mkdir(parents=True, exist_ok=True)
    config.checkpoints_dir.mkdir(parents=True, exist_ok=True)
    lines = ScriptOutput(telemetry)
    tensorboard = config.hyperparameters["tensorboard"]
    events = EventFileReader(tensorboard, telemetry)
    command, folder = config.hyperparameters["command"], config.hyperparameters["cwd"]
    reading, writing = os.pipe()
    try:
        script = _start(command, folder, writing, variables(config))
        os.close(writing)
        try:
            _follow(script, reading, lines, events, until=None)
        except Cancelled as cancelled:
            if script.poll() is None:
                script.send_signal(cancelled.signal)
            _follow(script, reading, lines, events, until=time.monotonic() + _STOP_SECONDS)
            return lines.final_metrics
        finally:
            if script.poll() is None:
                script.kill()
            script.wait()
            fastlane.clear(config.run_dir)  # frames of a script that was killed
    finally:
        os.close(reading)
    if script.returncode or lines.failure:
        raise lines.failure or _failure(script.returncode)
    if not events.found and tensorboard != str(config.tensorboard_dir):
        log.warning("the script wrote no TensorBoard files below %s, which tensorboard= names", tensorboard)
    return lines.final_metrics


def _start(command: list[str], folder: str, out: int, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out)
    except OSError as error:
        os.close(out)
        raise ConfigError(f"{command[0]!r} cannot be started: {error.strerror or error}") from None


def _follow(
    script: subprocess.Popen[bytes],
    reading: int,
    lines: ScriptOutput,
    events: EventFileReader,
    until: float | None,
) -> None:
    """Process the script's output until it has ended, or until `until` (monotonic time)."""
    looked, deadline = 0.0, until
    while True:
        now = time.monotonic()
        if now - looked >= _LOOK_SECONDS:
            looked = now
            events.read()
        if script.poll() is not None:
            # The script's child processes may keep the pipe open indefinitely.
            end = time.monotonic() + _LAST_LINES_SECONDS
            until = end if until is None else min(until, end)
        if until is not None and now > until:
            break
        if not select.select([reading], [], [], 0.1)[0]:
            if script.poll() is not None:
                break
            continue
        data = os.read(reading, 1 << 16)
        if not data:
            _wait(script, until)
            break
        lines.feed(data)
    lines.end()
    while events.read() and (deadline is None or time.monotonic() < deadline):
        pass


def _wait(script: subprocess.Popen[bytes], until: float | None) -> None:
    """Wait for a script that has closed its stdout to exit, until `until` (seconds of `time.monotonic`) or
    without a limit (None).
    """
    with suppress(subprocess.TimeoutExpired):
        script.wait(None if until is None else max(0.0, until - time.monotonic()))


def _failure(code: int) -> UpstreamFailed:
    if code < 0:
        return UpstreamFailed(f"the script was ended by {signal.Signals(-code).name}", "Killed")
    return UpstreamFailed(f"the script ended with exit status {code}; its output is in the log", "ScriptExit")
