"""The trials of a sweep, which `trial_log` records."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

STOPPED = "the sweep was stopped"
"""The reason of trials that were cancelled with their sweep: it resumes them."""


class Proposal(NamedTuple):
    """The values of a trial: those that were chosen, the hyperparameters that these make (the same, unless
    the search is a function), and the distributions that the values come from, as `space.to_json` has them.
    """

    parameters: dict[str, Any]
    hyperparameters: dict[str, Any]
    distributions: dict[str, dict[str, Any]]


class TrialState(StrEnum):
    """The state of a trial: the last four are ends. One that waits has ended a segment and may continue."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SegmentSource(NamedTuple):
    """Where a segment continues from: the end of the segment at a place of a trial."""

    trial: int
    place: int


class SavedCheckpoint(NamedTuple):
    """A checkpoint: its path relative to the run store, and the step at which it was saved."""

    path: str
    step: int


class Former(NamedTuple):
    """A run that a stop of the sweep has ended. Its training counts up to the step ``kept``: that of the
    checkpoint that the next run of its seed resumes from, 0 where that begins again."""

    run: str
    kept: int


@dataclass
class TrialSegment:
    """A part of a trial that was trained by runs of its own, to the step ``stop``.

    ``place`` is 0 for the first; each of the others continues from the checkpoints at the end of its
    ``source``, by seed ``resumed``; ``saved`` are those at its own end, relative to the run store.
    """

    place: int
    stop: int
    parameters: dict[str, Any]
    runs: dict[int, str]
    source: SegmentSource | None = None
    resumed: dict[int, str] = field(default_factory=dict)
    saved: dict[int, str] = field(default_factory=dict)
    value: float | None = None
    cancelled: bool = False
    """It was stopped with the sweep, and is done again."""


@dataclass
class Trial:
    """One proposal of a sweep and what became of it.

    ``parameters`` are the values that were chosen, ``hyperparameters`` what these make: the same, unless the
    search is a function. ``distributions`` are those of the values, as `space.to_json` has them. ``value`` is
    the metric of all seeds together, ``values`` of each. ``reports`` are the values on the way, by steps;
    ``rungs`` is what the pruner keeps of them.

    ``runs`` has the id of the newest run of each seed, ``former`` those that stops of the sweep have ended
    before it, ``resumed`` the checkpoints, relative to the run store, that the newest continue from.

    ``segments`` are its parts, where it is trained in several; all of the above is then of the last.
    """

    number: int
    parameters: dict[str, Any]
    hyperparameters: dict[str, Any]
    distributions: dict[str, dict[str, Any]]
    runs: dict[int, str]
    started: float
    state: TrialState = TrialState.RUNNING
    reason: str = ""
    ended: float | None = None
    value: float | None = None
    values: dict[int, float] = field(default_factory=dict)
    reports: dict[int, float] = field(default_factory=dict)
    rungs: dict[str, float] = field(default_factory=dict)
    former: dict[int, list[Former]] = field(default_factory=dict)
    resumed: dict[int, str] = field(default_factory=dict)
    segments: list[TrialSegment] = field(default_factory=list)
    pruned: bool = False
    """Whether it is to be stopped at the step of its last report."""
    idle: float = 0.0
    """Seconds between stops of the sweep and its going on."""

    @property
    def alive(self) -> bool:
        return self.state in (TrialState.RUNNING, TrialState.WAITING)

    @property
    def stopped(self) -> bool:
        """Whether a stop of the sweep has cancelled it, and it has not gone on since."""
        return self.state is TrialState.CANCELLED and self.reason == STOPPED

    @property
    def seconds(self) -> float | None:
        """How long it has taken; None before its end."""
        return None if self.ended is None else self.ended - self.started - self.idle

    @property
    def run_ids(self) -> list[str]:
        """All runs that it has had."""
        segments = [run for segment in self.segments[:-1] for run in segment.runs.values()]
        former = [one.run for runs in self.former.values() for one in runs]
        return [*segments, *former, *self.runs.values()]

    @property
    def proposal(self) -> Proposal:
        """Its current proposal."""
        return Proposal(self.parameters, self.hyperparameters, self.distributions)

    @property
    def schedule(self) -> list[TrialSegment]:
        """Its segments in order, without those that were stopped and done again."""
        return [one for one in self.segments if not one.cancelled]

    def segment(self, place: int) -> TrialSegment | None:
        """The segment at a place that has ended with a value; None without one."""
        found = [one for one in self.segments if one.place == place and one.value is not None]
        return found[-1] if found else None
