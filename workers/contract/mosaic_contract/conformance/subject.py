"""The worker under test, conversations with its processes, and the exception for a failed check. In a
conversation each command is one line, answered by one line, with a deadline."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence, Union

from mosaic_contract.codec import OPERATING_LINE_LIMIT, decode_line, encode_line
from mosaic_contract.conformance.observed_process import ObservedProcess
from mosaic_contract.errors import BadLine

START_SECONDS = 120.0  # for a command that only checks: imports of a large library from a slow disk
_POLL_SECONDS = 0.002  # between reads of the answers, which are many and fast
Answer = dict[str, Any]
Checks = Mapping[str, Callable[[], str]]
"""Checks by name. Each returns what it has found, or raises `CheckFailed`."""


class CheckFailed(Exception):
    """Raised if a check fails, with the expectation, the observation, and the last log lines."""

    def __init__(self, expected: str, observed: str, process: ObservedProcess | None = None) -> None:
        log = process.log_tail() if process else ""
        super().__init__(
            f"expected: {expected}\nseen: {observed}" + (f"\nlast log lines:\n{log}" if log else "")
        )


def require(met: object, expected: str, observed: object, process: ObservedProcess | None = None) -> None:
    """Raise `CheckFailed` unless `met` is true; `seen` is the observed value or a description of it."""
    if not met:
        raise CheckFailed(expected, observed if isinstance(observed, str) else f"{observed!r:.500}", process)


@dataclass
class Subject:
    """A worker's command and configuration, its limits, and its processes so far."""

    command: Sequence[str]
    config: Mapping[str, Any]
    folder: Path
    python: str = sys.executable
    grace: float = 10.0
    deadline: float = 300.0
    name: str = ""
    modes: Sequence[str] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    processes: list[ObservedProcess] = field(default_factory=list)

    def start(self, name: str, *arguments: str, pipes_input: bool = False) -> ObservedProcess:
        """Return a process in its own folder, not started yet; `pipes_input`: with a pipe to stdin."""
        process = ObservedProcess([*self.command, *arguments], self.folder / name, pipes_input=pipes_input)
        self.processes.append(process)
        return process

    @contextmanager
    def conversation(
        self, name: str, *arguments: str, unsolicited: Sequence[str] = ()
    ) -> Iterator[Conversation]:
        """Start a process with these arguments, in its own folder, for the duration of a conversation."""
        with self.start(name, *arguments, pipes_input=True) as process:
            yield Conversation(process, unsolicited)

    def empty_folder(self, name: str) -> Path:
        folder = self.folder / name
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        return folder


def expect_exit(process: ObservedProcess, code: int, seconds: float, label: str = "") -> None:
    """Wait for the process to exit. Raises `CheckFailed` if it does not exit in time with this code."""
    process.wait(seconds)
    late = f" after {seconds:g} s" if process.code is None else ""
    require(process.code == code, f"exit code {code} {label}".rstrip(), f"{process.ending}{late}", process)


class Conversation:
    """A conversation over a process's stdin and stdout. Messages of the types `unsolicited` may arrive at any
    time and answer no command."""

    def __init__(self, process: ObservedProcess, unsolicited: Sequence[str] = ()) -> None:
        self.process = process
        self._unsolicited = unsolicited
        self._answers_read = 0

    def request(
        self,
        command: Union[Mapping[str, Any], bytes],
        expected_types: Union[str, tuple[str, ...]],
        seconds: float,
        label: str = "",
    ) -> Answer:
        """Send a command and return its answer, of one of the expected types. Raises `CheckFailed`."""
        line = command if isinstance(command, bytes) else encode_line(command, OPERATING_LINE_LIMIT)
        types = (expected_types,) if isinstance(expected_types, str) else expected_types
        name = label or json.loads(line)["cmd"]
        expected = f"{' or '.join(types)} within {seconds:g} s ({name})"
        assert self.process.popen.stdin is not None
        try:
            self.process.popen.stdin.write(line)
        except OSError:
            raise CheckFailed(expected, f"its stdin is closed: {self.process.ending}", self.process) from None
        deadline = time.monotonic() + seconds
        answer = self._next(expected, deadline)
        while answer.get("type") in self._unsolicited:
            answer = self._next(expected, deadline)
        self.require(answer.get("type") in types, expected, answer)
        return answer

    def request_error(self, command: Union[Mapping[str, Any], bytes], seconds: float, label: str) -> Answer:
        """Send a command that is refused, and return the error. Raises `CheckFailed`."""
        answer = self.request(command, "error", seconds, label)
        message = answer.get("message")
        self.require(message and isinstance(message, str), f"an error with a message ({label})", answer)
        return answer

    def require(self, met: object, expected: str, observed: object) -> None:
        """Raise `CheckFailed`, with the last log lines of the process, unless `met` is true."""
        require(met, expected, observed, self.process)

    def expect_end(self, code: int, seconds: float, when: str) -> None:
        """Wait for the process to exit. Raises `CheckFailed` if it does not exit in time with this code, or
        if stdout has more lines than answers."""
        expect_exit(self.process, code, seconds, when)
        unread = self.process.lines()[self._answers_read :]
        self.require(not unread, "one line on stdout for each command", unread[:1])

    def _next(self, expected: str, deadline: float) -> Answer:
        while True:
            ended = self.process.code is not None
            lines = self.process.stdout_path.read_bytes().split(b"\n")[:-1]
            if len(lines) > self._answers_read:
                break
            if ended or time.monotonic() > deadline:
                raise CheckFailed(expected, f"no answer: {self.process.ending}", self.process)
            time.sleep(_POLL_SECONDS)
        line = lines[self._answers_read]
        self._answers_read += 1
        try:
            return decode_line(line)
        except BadLine as bad:
            raise CheckFailed(expected, f"{bad}: {line!r:.500}", self.process) from None


def check_ends(
    subject: Subject, mode: str, command: Callable[[], Mapping[str, Any]], answer_type: str
) -> str:
    """Check that the worker exits at the end of its stdin and on SIGTERM, without further lines on stdout.

    Before that, it answers `command()` with a message of type `answer_type`. Raises `CheckFailed`.
    """
    with subject.conversation(f"end-of-input{mode}", mode) as talk:
        talk.request(command(), answer_type, START_SECONDS)
        talk.process.feed(b"")
        talk.expect_end(0, subject.grace, "at the end of stdin")
    with subject.conversation(f"SIGTERM{mode}", mode) as talk:
        talk.request(command(), answer_type, START_SECONDS)
        talk.process.signal(signal.SIGTERM)
        talk.expect_end(143, subject.grace, "after SIGTERM")
    return "at the end of stdin, and by SIGTERM"
