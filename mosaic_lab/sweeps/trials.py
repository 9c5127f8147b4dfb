"""The trials of a sweep, as recorded by `trial_log`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

STOPPED = "the sweep was stopped"
"""The reason of trials cancelled with their sweep, which resumes them."""


class Proposal(NamedTuple):
    """The values of a trial: the chosen parameters, the hyperparameters they result in (identical unless the
    search is a function), and the distributions, in the format of `space.to_json`."""

    parameters: dict[str, Any]
    hyperparameters: dict[str, Any]
    distributions: dict[str, dict[str, Any]]


class TrialState(StrEnum):
    """The state of a trial. The last four are final. A queued trial has no run in training yet. A waiting
    trial has completed a segment and may continue."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SegmentSource(NamedTuple):
    """The origin of a segment: the end of an earlier segment, by trial and place."""

    trial: int
    place: int


class NextSegment(NamedTuple):
    """The segment that a trial trains next, at ``place``, with the values of its ``proposal``."""

    trial: int
    place: int
    proposal: Proposal
    source: SegmentSource | None


class SavedCheckpoint(NamedTuple):
    """A checkpoint: its path relative to the run store, and the step at which it was saved."""

    path: str
    step: int


class StoppedRun(NamedTuple):
    """A run ended by a stop of the sweep. Its training counts up to the step ``kept`` of the checkpoint that
    the seed's next run resumes from; 0 if that run starts from scratch."""

    run: str
    kept: int


@dataclass
class TrialSegment:
    """A part of a trial, trained by its own runs up to the step ``stop``.

    ``place`` is 0 for the first segment. Every other segment continues from the checkpoints at the end of its
    ``source``, ``resumed`` by seed; ``saved`` are the checkpoints at its own end, relative to the run store.
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
    """Whether the segment was stopped with the sweep and is repeated."""


@dataclass
class Trial:
    """A proposal of a sweep and its outcome.

    ``parameters`` are the chosen values, ``hyperparameters`` the resulting ones: identical unless the search
    is a function. ``distributions`` are in the format of `space.to_json`. ``value`` is the metric combined
    over all seeds, ``values`` the metric of each seed. ``reports`` are intermediate values by step; ``rungs``
    are the pruner's own values.

    ``runs`` has the id of each seed's newest run, ``former`` the earlier runs ended by stops of the sweep,
    and ``resumed`` the checkpoints, relative to the run store, that the newest runs continue from.

    ``segments`` are its parts if it is trained in several; all fields above then describe the last segment.
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
    step: int | None = None
    """The last step that its runs reported; None before its end, and in logs of older versions."""
    value: float | None = None
    values: dict[int, float] = field(default_factory=dict)
    reports: dict[int, float] = field(default_factory=dict)
    rungs: dict[str, float] = field(default_factory=dict)
    former: dict[int, list[StoppedRun]] = field(default_factory=dict)
    resumed: dict[int, str] = field(default_factory=dict)
    segments: list[TrialSegment] = field(default_factory=list)
    pruned: bool = False
    """Whether the trial is to be stopped at the step of its last report."""
    idle: float = 0.0
    """Seconds without a run in training before it last began: queued, waiting, or stopped with the sweep."""
    idle_since: float | None = None
    """The time since which no run has been in training; None while one is."""

    def begin(self, timestamp: float) -> None:
        """Record that a run has been in training since ``timestamp``."""
        self.state = TrialState.RUNNING
        self.idle += 0.0 if self.idle_since is None else max(0.0, timestamp - self.idle_since)
        self.idle_since = None

    @property
    def active(self) -> bool:
        """Whether it has runs in training, or queued."""
        return self.state in (TrialState.QUEUED, TrialState.RUNNING)

    @property
    def alive(self) -> bool:
        return self.active or self.state is TrialState.WAITING

    @property
    def stopped(self) -> bool:
        """Whether the trial was cancelled by a stop of the sweep and has not been resumed."""
        return self.state is TrialState.CANCELLED and self.reason == STOPPED

    @property
    def seconds(self) -> float | None:
        """The seconds for which the trial was trained; None before its end."""
        if self.ended is None or self.idle_since is None:
            return None
        return self.idle_since - self.started - self.idle

    @property
    def run_ids(self) -> list[str]:
        """The ids of all runs of the trial."""
        segments = [run for segment in self.segments[:-1] for run in segment.runs.values()]
        former = [former_run.run for runs in self.former.values() for former_run in runs]
        return [*segments, *former, *self.runs.values()]

    @property
    def proposal(self) -> Proposal:
        """The current proposal."""
        return Proposal(self.parameters, self.hyperparameters, self.distributions)

    @property
    def schedule(self) -> list[TrialSegment]:
        """The segments in order, without those that were stopped and repeated."""
        return [segment for segment in self.segments if not segment.cancelled]

    def segment(self, place: int) -> TrialSegment | None:
        """Return the segment at a place, if it has ended with a value."""
        ended = [segment for segment in self.segments if segment.place == place and segment.value is not None]
        return ended[-1] if ended else None
