"""The states of a run, and the contents of ``state.json`` as small immutable classes.

Their dictionaries are the file's format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from mosaic_lab.sanitize import sanitize


class State(StrEnum):
    """queued → starting → running → stopping → completed | failed | cancelled | lost.

    ``removed`` is the state of a handle whose run this process has deleted; it stands in no file.
    """

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
        """True in the states that nothing follows."""
        return self in _FINISHED


_FINISHED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.LOST, State.REMOVED})


@dataclass(frozen=True)
class Outcome:
    """How a run's processes ended, as recorded by its keeper.

    ``exit_code`` is set when the worker left by itself, ``signal`` when a signal ended it, neither when it
    never started. ``peak_memory_mb`` (MiB) is the larger of two measurements: the kernel's high-water mark of
    the biggest single process, and the resident memory of all processes of the run together, sampled every
    five seconds (less often where that would cost much). ``cpu_seconds`` is user and system time of the
    worker and of every process it left to the keeper. ``duration_seconds`` counts from the worker's start on
    a monotonic clock. ``stopped_by`` is the rung of the stop ladder that worked. ``evidence`` is the sentence
    that the final reason stands on.
    """

    exit_code: int | None = None
    signal: int | None = None
    peak_memory_mb: float | None = None
    cpu_seconds: float | None = None
    duration_seconds: float | None = None
    stopped_by: str | None = None
    evidence: str = ""
    leftovers: int = 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """Raises TypeError or ValueError when ``data`` is not what was written of an outcome."""
        if not isinstance(data, Mapping):
            raise TypeError(f"{data!r} is no outcome")
        stopped_by = data.get("stopped_by")
        return cls(
            exit_code=_whole(data.get("exit_code")),
            signal=_whole(data.get("signal")),
            peak_memory_mb=_number(data.get("peak_memory_mb")),
            cpu_seconds=_number(data.get("cpu_seconds")),
            duration_seconds=_number(data.get("duration_seconds")),
            stopped_by=None if stopped_by is None else str(stopped_by),
            evidence=str(data.get("evidence", "")),
            leftovers=_whole(data.get("leftovers")) or 0,
        )


@dataclass(frozen=True)
class Transition:
    """One change of state. ``timestamp``: Unix seconds, for people; nothing is computed from it."""

    state: State
    reason: str
    timestamp: float


@dataclass(frozen=True)
class RunStatus:
    """One reading of ``state.json``.

    ``place`` names the boot and process namespace in which the pids (and ``started_monotonic``, the monotonic
    clock's value at the worker's start) mean something. ``keeper_started`` is the start time of the keeper's
    process (see `processes.start_time`): another process that has its pid now has another one.
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

    def moved_to(self, state: State, reason: str, timestamp: float) -> RunStatus:
        """The status after a change. A new reason in the same state replaces the old one in the history."""
        kept = self.history[:-1] if self.history and self.history[-1].state is state else self.history
        since = self.since if state is self.state and self.history else timestamp
        history = (*kept, Transition(state, reason, since))
        return replace(self, state=state, reason=reason, since=since, history=history)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunStatus:
        """Raises KeyError, TypeError, ValueError or OverflowError for an invalid state file's content."""
        state = State(data["state"])
        outcome = data.get("outcome")
        return cls(
            state=state,
            reason=sanitize(str(data["reason"])),
            since=float(data["since"]),
            history=tuple(
                Transition(State(step["state"]), sanitize(str(step["reason"])), float(step["timestamp"]))
                for step in data.get("history", ())
            ),
            keeper_pid=_whole(data.get("keeper_pid")),
            keeper_started=_whole(data.get("keeper_started")),
            worker_pid=_whole(data.get("worker_pid")),
            gpus=tuple(int(index) for index in data.get("gpus", ())),
            outcome=None if outcome is None else Outcome.from_dict(outcome),
            place=str(data.get("place", "")),
            started_monotonic=_number(data.get("started_monotonic")),
        )


def _whole(value: Any) -> int | None:
    if value is not None and not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def queued(reason: str, timestamp: float) -> RunStatus:
    """Return the initial status of a run."""
    return RunStatus(State.QUEUED, reason, timestamp, (Transition(State.QUEUED, reason, timestamp),))
