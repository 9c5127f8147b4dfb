"""Exact versions in the workers' environments, and later changes to them.

A fingerprint includes versions, so all episodes of an evaluation use the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mosaic_lab.workers import WorkerEnvironment, find

_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
_HEAD = re.compile(r"# (Python|worker code) ([A-Za-z0-9.+-]*)")
_NAMED = 6  # changes in a message


@dataclass(frozen=True)
class Lock:
    """The lock of one environment: its Python, {package: version} for packages from an index, and a hash of
    the worker's own code (empty if the environment was not built by MOSAIC Lab).
    """

    python: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    code: str = ""

    def to_text(self) -> str:
        """Return the lock as a requirements file; anything not from an index is a comment."""
        head = f"# Python {self.python}\n# worker code {self.code}\n"
        return head + "".join(f"{name}=={version}\n" for name, version in sorted(self.packages.items()))

    @classmethod
    def from_text(cls, text: str) -> Lock:
        """Read a lock file.

        Raises ValueError for a line that is neither one of our comments nor an exact version.
        """
        head = {}
        packages = {}
        for line in text.splitlines():
            if heading := _HEAD.fullmatch(line):
                head[heading[1]] = heading[2]
            elif pin := _PIN.fullmatch(line):
                packages[pin[1]] = pin[2]
            else:
                raise ValueError(f"{line!r:.100} is not an exact version")
        return cls(head.get("Python", ""), packages, head.get("worker code", ""))


def lock_of(worker_environment: WorkerEnvironment) -> Lock:
    """Return the lock of an environment as currently installed."""
    pins = [pin for line in worker_environment.freeze if (pin := _PIN.fullmatch(line))]
    packages = {pin[1]: pin[2] for pin in pins}
    return Lock(worker_environment.python_version, packages, worker_environment.shim_fingerprint or "")


def locks_of(workers: Iterable[str]) -> dict[str, Lock]:
    """Return the locks of the installed workers, by name."""
    environments = {name: find(name) for name in sorted(set(workers))}
    return {name: lock_of(installed) for name, installed in environments.items() if installed is not None}


def changes(then: Mapping[str, Lock], now: Mapping[str, Lock]) -> dict[str, list[str]]:
    """Return the changes of each worker as short texts; unchanged workers are left out."""
    changes = {name: _changes(lock, now.get(name)) for name, lock in then.items()}
    return {name: texts for name, texts in changes.items() if texts}


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the (then, now) versions that differ, by name; None for an absent package."""
    names = sorted({*then, *now}, key=str.lower)
    return {name: (then.get(name), now.get(name)) for name in names if then.get(name) != now.get(name)}


def text_of(texts: list[str]) -> str:
    """Return the changes of one worker in one line."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more


def _changes(then: Lock, now: Lock | None) -> list[str]:
    if now is None:
        return ["it is not installed here"]
    python = differing({"Python": then.python}, {"Python": now.python})
    pairs = {**python, **differing(then.packages, now.packages)}
    texts = [f"{name} {before or 'none'} (here {after or 'none'})" for name, (before, after) in pairs.items()]
    return texts + (["the worker's own code"] if then.code != now.code else [])
