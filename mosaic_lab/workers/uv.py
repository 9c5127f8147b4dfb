"""Run uv as a process with a deadline and convert its output to short progress lines."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.sanitize import sanitize
from mosaic_lab.workers.home import ProgressCallback
from mosaic_lab.workers.pip_settings import uv_environment, without_credentials

_SILENCE_SECONDS = 10.0  # of silence, after which a progress line reports that uv is still running
_KEPT_LINES = 2000  # enough for a freeze list
_SHOWN_LINES = 15
_PROBE_SECONDS = 60.0

_STEP = re.compile(
    r"\s*(Using CPython|Resolved|Downloading|Building|Built|Prepared|Installed|Updating|Updated)\b(.*?)"
    r"(?: in [\d.]+ ?m?s| interpreter at: .*| @ file:.*)?\s*"
)
_HINTS = (
    (r"No space left", "The disk is full: free some space and run the same command again."),
    (
        r"No interpreter found|python-build-standalone|No download found",
        "uv could neither find nor download that Python: install it, or pass --python PATH to one that "
        "you have.",
    ),
    (
        r"Failed to fetch|error sending request|dns error|timed out|Could not resolve host",
        "A package index or a host could not be reached: check the network, the proxy and pip's index "
        "settings (`pip config list`; uv is given the same), then run the same command again.",
    ),
    (
        r"No solution found",
        "No index offers that set of versions for this Python: see the lines above; `--python` chooses "
        "another.",
    ),
)


@dataclass(frozen=True)
class Answer:
    """A finished uv process: its exit code (None: killed at its deadline) and last lines, without
    passwords.
    """

    returncode: int | None
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Uv:
    """uv with pip's settings, for the duration of one installation.

    ``folder`` is its working directory; in the user's own, a pyproject.toml could change uv's behaviour.
    ``deadline`` is the ``time.monotonic()`` by which every process ends, ``lock`` a descriptor that each
    process keeps open.
    """

    folder: Path
    progress: ProgressCallback
    deadline: float
    lock: int
    environ: dict[str, str] = field(default_factory=uv_environment)
    started: float = field(default_factory=time.monotonic)
    _reported: set[str] = field(default_factory=set)
    """The steps reported so far, each once: the search for torch resolves the same packages as the
    installation that follows."""

    def say(self, text: str) -> None:
        self.progress(f"{time.monotonic() - self.started:5.0f} s  {text}")

    def do(self, task: str, *arguments: str) -> Answer:
        """Run uv with progress.

        Raises WorkerEnvironmentError, with uv's last lines and a hint, if it fails.
        """
        answer = self._run(arguments, self.deadline, task)
        if answer.returncode is None:
            raise WorkerEnvironmentError(
                f"uv ran past the deadline while {task}. Its last lines:\n{_quoted(answer.lines)}\n"
                "Run the same command again: what was downloaded is kept in uv's cache."
            )
        if answer.returncode != 0:
            raise WorkerEnvironmentError(_failure(task, answer.returncode, answer))
        return answer

    def probe(self, *arguments: str) -> Answer:
        """Run uv quietly and without retries, for its exit code. Exceeding the deadline counts as a
        failure."""
        deadline = min(self.deadline, time.monotonic() + _PROBE_SECONDS)
        quick = {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "10"}
        return self._run(arguments, deadline, task=None, extra=quick)

    def _run(
        self, arguments: Sequence[str], deadline: float, task: str | None, extra: dict[str, str] | None = None
    ) -> Answer:
        process = subprocess.Popen(
            # Notebook kernels set FORCE_COLOR, but the output is parsed here.
            [uv_binary(), "--color", "never", *arguments],
            cwd=self.folder,
            env={**self.environ, **(extra or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=(self.lock,),
        )
        try:
            lines, in_time = self._follow(process, deadline, task)
            return Answer(process.wait(timeout=10) if in_time else None, lines)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _follow(
        self, process: subprocess.Popen[str], deadline: float, task: str | None
    ) -> tuple[list[str], bool]:
        """Report the progress of a process; return its last lines and whether it ended in time."""
        output: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read_lines, args=(process, output), daemon=True).start()
        last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        reported = time.monotonic()
        step = task or ""
        while True:
            now = time.monotonic()
            if now > deadline:
                return list(last_lines), False
            try:
                line = output.get(timeout=min(1.0, max(0.01, deadline - now)))
            except queue.Empty:
                if task and now - reported > _SILENCE_SECONDS:
                    self.say(f"still {step}")
                    reported = now
                continue
            if line is None:
                return list(last_lines), True
            line = sanitize(line)  # build scripts may print anything
            last_lines.append(without_credentials(line.rstrip()))
            if task and (progress := step_of(line)):
                step, reported = progress, now
                if progress not in self._reported:
                    self._reported.add(progress)
                    self.say(progress)


def uv_binary() -> str:
    """Return the path of the uv executable from our dependencies."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        raise WorkerEnvironmentError(
            f"uv, which builds worker environments, is missing ({error}). Install it: pip install uv"
        ) from error


def step_of(line: str) -> str | None:
    """Return the progress line for a line of uv's output, or None if the line is irrelevant to users."""
    match = _STEP.fullmatch(without_credentials(line.rstrip()))
    if not match:
        return None
    verb, details = match.groups()
    return f"{'Python' if verb == 'Using CPython' else verb.lower()}{details}"


def _read_lines(process: subprocess.Popen[str], output: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            output.put(line)
    output.put(None)


def _quoted(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines[-_SHOWN_LINES:])


def _failure(task: str, code: int, answer: Answer) -> str:
    hints = [hint for pattern, hint in _HINTS if re.search(pattern, answer.text, re.IGNORECASE)]
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    return "\n".join(
        [
            f"uv failed while {task} ({ending}). Its last lines:",
            _quoted(answer.lines),
            hints[0] if hints else "Read the lines above; then run the same command again.",
        ]
    )
