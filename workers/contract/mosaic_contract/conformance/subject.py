"""The worker under test, and the exception for a failed check."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.conformance.observed_process import ObservedProcess

START_SECONDS = 120.0  # for a command that only checks: imports of a large library from a slow disk


class CheckFailed(Exception):
    """Raised if a check fails, with the expectation, the observation, and the last log lines."""

    def __init__(self, expected: str, seen: str, process: ObservedProcess | None = None) -> None:
        log = process.log_tail() if process else ""
        super().__init__(f"expected: {expected}\nseen: {seen}" + (f"\nlast log lines:\n{log}" if log else ""))


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

    def start(self, name: str, *arguments: str, talks: bool = False) -> ObservedProcess:
        """Return a process in its own folder, not started yet; `talks`: with a pipe to stdin."""
        process = ObservedProcess([*self.command, *arguments], self.folder / name, talks=talks)
        self.processes.append(process)
        return process

    def empty_folder(self, name: str) -> Path:
        folder = self.folder / name
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        return folder


def expect_exit(process: ObservedProcess, code: int, seconds: float, what: str = "") -> None:
    """Wait for the process to exit. Raises `CheckFailed` if it does not exit in time with this code."""
    process.wait(seconds)
    if process.code != code:
        late = f" after {seconds:g} s" if process.code is None else ""
        raise CheckFailed(f"exit code {code} {what}".rstrip(), f"{process.ending}{late}", process)
