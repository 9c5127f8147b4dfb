"""Child processes: programs of users and libraries that a worker runs to their end, and how they ended.

A program stays in the worker's process group, so that a signal to the group stops both. Its standard error is
the run's log.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Mapping, Optional, Sequence, Union

from mosaic_contract.codec import LineSplitter
from mosaic_contract.errors import Cancelled, ConfigError, UpstreamFailed

_POLL_SECONDS = 0.5
_STOP_SECONDS = 7.0  # for the program to save and exit: less than the grace period of a run
_LAST_LINES_SECONDS = 1.0  # for data left in the pipe after the program has ended
_LOG_DESCRIPTOR = 2  # stderr

log = logging.getLogger("mosaic_contract")


def run_program(
    command: Sequence[str],
    *,
    cwd: Union[str, Path],
    env: Mapping[str, str],
    poll: Callable[[], object],
    handle_line: Optional[Callable[[bytes], None]] = None,
) -> int:
    """Run a program to its end and return its exit code, -N if signal N ended it.

    `poll` is called twice a second, to read the files that the program writes, and at the end until it
    returns a false value. `handle_line` is called with each line of the program's standard output, which by
    default is part of the log. A signal is passed on to the program, which is killed if it does not exit
    within seconds; then `Cancelled` is raised. Raises `ConfigError` if the program cannot be started.
    """
    try:
        program = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=_LOG_DESCRIPTOR if handle_line is None else subprocess.PIPE,
            bufsize=0,
        )
    except OSError as error:
        raise ConfigError(f"{command[0]!r} cannot be started: {error.strerror or error}") from None
    lines = _OutputLines(program, handle_line)
    try:
        _follow(program, lines, poll, end_time=None)
    except Cancelled as cancelled:
        if program.poll() is None:
            program.send_signal(cancelled.signal)
        _follow(program, lines, poll, end_time=time.monotonic() + _STOP_SECONDS)
        if program.poll() is None:
            log.warning("%s has not exited within %g s and is killed", command[0], _STOP_SECONDS)
        raise
    finally:
        program.kill()  # no effect if it has ended
        program.wait()
        lines.close()
    return program.returncode


def exit_failure(subject: str, code: int, error_type: str) -> UpstreamFailed:
    """Return the error about a program that ended with this nonzero exit code."""
    text = f"{subject} {exit_text(code)}; its output is in the log"
    return UpstreamFailed(text, "Killed" if code < 0 else error_type)


def exit_text(code: int) -> str:
    """Return an exit code in words: "ended with exit code 1", "was killed by signal 9 (SIGKILL)"."""
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {signal_name(-code)}"


def signal_name(number: int) -> str:
    """Return a signal's number and name: "signal 9 (SIGKILL)"."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _follow(
    program: subprocess.Popen[bytes],
    lines: _OutputLines,
    poll: Callable[[], object],
    end_time: Optional[float],
) -> None:
    """Read what the program writes until it has ended, or until `end_time` (`time.monotonic`)."""
    deadline, last_poll = end_time, 0.0
    while end_time is None or time.monotonic() <= end_time:
        if time.monotonic() - last_poll >= _POLL_SECONDS:
            last_poll = time.monotonic()
            poll()
        ended = program.poll() is not None
        if ended:  # its child processes may keep the pipe open indefinitely
            last = time.monotonic() + _LAST_LINES_SECONDS
            end_time = last if end_time is None else min(end_time, last)
        if not lines.read() and ended:
            break
    lines.finish()
    while poll() and (deadline is None or time.monotonic() < deadline):
        pass


class _OutputLines:
    """The lines of a program's standard output, passed to `handle_line`."""

    def __init__(
        self, program: subprocess.Popen[bytes], handle_line: Optional[Callable[[bytes], None]]
    ) -> None:
        self._program, self._handle_line = program, handle_line
        self._open = handle_line is not None
        self._splitter = LineSplitter()

    def read(self) -> bool:
        """Wait a moment for output, or for the end of a program without any. Return whether any arrived."""
        if not self._open:
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(_POLL_SECONDS)
            return False
        assert self._program.stdout is not None
        if not select.select([self._program.stdout], [], [], 0.1)[0]:
            return False
        data = os.read(self._program.stdout.fileno(), 1 << 16)
        self._open = bool(data)
        self._pass_on(data)
        return bool(data)

    def finish(self) -> None:
        """Pass on a last line without a newline."""
        if self._splitter.pending:
            self._pass_on(b"\n")
        if self._splitter.oversize:
            log.warning("%d lines of more than 1 MiB were left out", self._splitter.oversize)
            self._splitter.oversize = 0

    def close(self) -> None:
        if self._program.stdout is not None:
            self._program.stdout.close()

    def _pass_on(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            assert self._handle_line is not None
            self._handle_line(line)
