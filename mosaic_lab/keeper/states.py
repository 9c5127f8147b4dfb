"""The states of a run, and the contents of ``state.json`` as immutable classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from mosaic_lab.sanitize import sanitize

_T = TypeVar("_T", "Outcome", "Transition", "RunStatus")


class State(StrEnum):
    """queued → starting → running → stopping → completed | failed | cancelled | lost. ``removed`` is the
    state of a handle whose run this process has deleted. It is never stored."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    REMOVED = "removed"

    @property
    def finished(self) -> bool:
        """Whether the state is final."""
        return self in _FINISHED


UNSENT = "the stop is recorded and will be sent when the cluster's head answers"
"""Part of the reason of a started run whose cluster's head does not answer. `Run.stop` does not wait for such
a run."""
KERNEL_ENDED = "its kernel ended"
"""The reason of a comparison's lane that was cancelled before its episode had finished."""
_FINISHED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.LOST, State.REMOVED})


@dataclass(frozen=True)
class Outcome:
    """The end of a run's processes, as recorded by its keeper.

    ``exit_code`` is set if the worker exited by itself, ``signal`` if a signal ended it, neither if it never
    started. ``peak_memory_mb`` (MiB) is the larger of two measurements: the kernel's high-water mark of the
    largest single process, and the total resident memory of the run's processes, sampled every five seconds
    (less often if that would be expensive). ``cpu_seconds`` is user and system time of the worker and all
    processes that the keeper reaped. ``duration_seconds`` counts from the worker's start on a monotonic
    clock. ``stopped_by`` is the rung of the stop ladder that ended the worker. ``evidence`` is the basis of
    the final reason.
    """

    exit_code: int | None = None
    signal: int | None = None
    peak_memory_mb: float | None = None
    cpu_seconds: float | None = None
    duration_seconds: float | None = None
    stopped_by: str | None = None
    evidence: str = ""
    leftovers: int = 0


@dataclass(frozen=True)
class Transition:
    """A change of state. ``timestamp``: Unix seconds, for display only."""

    state: State
    reason: str
    timestamp: float


@dataclass(frozen=True)
class RunStatus:
    """The content of ``state.json``.

    ``place`` identifies the boot and process namespace in which the pids (and ``started_monotonic``, the
    monotonic clock's value at the worker's start) are valid. ``keeper_started`` is the start time of the
    keeper's process (see `processes.start_time`), which distinguishes it from a process that reuses its pid.
    """

    state: State
    reason: str
    since: float
    history: tuple[Transition, ...] = ()
    keeper_pid: int | None = None
    keeper_started: int | None = None
    worker_pid: int | None = None
    gpus: tuple[int, ...] = ()
    outcome: Outcome | None = None
    place: str = ""
    started_monotonic: float | None = None
    earlier_seconds: float = 0.0
    """Run time of the earlier workers of a run that was resumed in its folder."""

    def moved_to(self, state: State, reason: str, timestamp: float) -> RunStatus:
        """Return the status after a change. A new reason in the same state replaces the old one in the
        history."""
        earlier = self.history[:-1] if self.history and self.history[-1].state is state else self.history
        since = self.since if state is self.state and self.history else timestamp
        history = (*earlier, Transition(state, reason, since))
        return replace(self, state=state, reason=reason, since=since, history=history)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> RunStatus:
        """Return the status stored in ``data``. Raises TypeError, ValueError or OverflowError for anything
        `to_dict` did not return."""
        return _read(cls, data)


def queued(reason: str, timestamp: float) -> RunStatus:
    """Return the initial status of a run."""
    return RunStatus(State.QUEUED, reason, timestamp, (Transition(State.QUEUED, reason, timestamp),))


def _read(cls: type[_T], data: object) -> _T:
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r:.100} is not an object")
    return cls(**{name: read(data[name]) for name, read in _FIELDS[cls] if name in data})


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r:.100} is not an integer")
    return value


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{number} is not a time or an amount")
    return number


def _text(value: object) -> str:
    return sanitize(str(value))


_READERS: dict[str, Callable[[Any], Any]] = {  # by annotation, because the fields are the file's schema
    "State": State,
    "str": _text,
    "str | None": _optional(_text),
    "int": _integer,
    "int | None": _optional(_integer),
    "float": _finite,
    "float | None": _optional(_finite),
    "tuple[int, ...]": lambda numbers: tuple(map(_integer, numbers)),
    "tuple[Transition, ...]": lambda steps: tuple(_read(Transition, step) for step in steps),
    "Outcome | None": _optional(lambda outcome: _read(Outcome, outcome)),
}
_FIELDS: dict[type, list[tuple[str, Callable[[Any], Any]]]] = {
    cls: [(field.name, _READERS[str(field.type)]) for field in fields(cls)]
    for cls in (Outcome, Transition, RunStatus)
}
