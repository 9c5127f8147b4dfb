"""The trials of a sweep, as its log records them: ``trials.jsonl`` in the sweep's folder.

Each line is sealed by a checksum and flushed to the disk before what it announces is done: a trial is
recorded before its runs are started, and so is each of its segments, so a sweep that was killed finds each
of them by its id.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_contract.codec import encode_line, is_sealed, seal

from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.decoding import whole

PROPOSED, REPORTED, ENDED = "trial_proposed", "trial_reported", "trial_ended"
CONTINUED, PAUSED = "segment_proposed", "segment_ended"


class Proposal(NamedTuple):
    """What a trial tries: the values that were chosen, the hyperparameters that these make (the same, unless
    the search is a function), and the distributions that the values come from, as `space.to_json` has them.
    """

    parameters: dict[str, Any]
    hyperparameters: dict[str, Any]
    distributions: dict[str, dict[str, Any]]


class TrialState(StrEnum):
    """How a trial is: each of the last four is an end. One that waits has ended a segment, and may go on."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Source(NamedTuple):
    """Where a segment goes on from: the end of the segment at a place of a trial."""

    trial: int
    place: int


@dataclass
class Segment:
    """A part of a trial that was trained by runs of its own, to the step ``stop``.

    ``place`` is 0 for the first; each of the others goes on from the checkpoints at the end of its
    ``source``, by seed ``resumed``; ``saved`` are those at its own end, relative to the run store.
    """

    place: int
    stop: int
    parameters: dict[str, Any]
    runs: dict[int, str]
    source: Source | None = None
    resumed: dict[int, str] = field(default_factory=dict)
    saved: dict[int, str] = field(default_factory=dict)
    value: float | None = None
    cancelled: bool = False
    """It was stopped with the sweep, and is done again."""


@dataclass
class Trial:
    """One proposal of a sweep and what became of it.

    ``parameters`` are the values that were chosen, ``hyperparameters`` what these make: the same, unless the
    search is a function. ``distributions`` are those of the values, as `space.to_json` has them. ``runs`` has
    the id of the run of each seed. ``value`` is the metric of all seeds together, ``values`` of each.
    ``reports`` are the values on the way, by steps; ``rungs`` is what the pruner keeps of them.

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
    segments: list[Segment] = field(default_factory=list)
    pruned: bool = False
    """Whether it is to be stopped at the step of its last report."""
    replaced: bool = False
    """Its parameters were proposed again, after a stop had cancelled it."""

    @property
    def alive(self) -> bool:
        return self.state in (TrialState.RUNNING, TrialState.WAITING)

    @property
    def proposal(self) -> Proposal:
        """What it tries now."""
        return Proposal(self.parameters, self.hyperparameters, self.distributions)

    @property
    def schedule(self) -> list[Segment]:
        """Its segments in order, without those that were stopped and done again."""
        return [one for one in self.segments if not one.cancelled]

    def segment(self, place: int) -> Segment | None:
        """The segment at a place that has ended with a value; None without one."""
        found = [one for one in self.segments if one.place == place and one.value is not None]
        return found[-1] if found else None


class TrialLog:
    """The trials in the log of the sweep in ``folder``. Any process may read it, one writes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trials.jsonl"
        self._begin()

    def _begin(self) -> None:
        self.trials: list[Trial] = []
        self._follower = JsonlFollower(self.path)

    def read(self) -> list[Trial]:
        """Take in what was written since the last call, and return all trials."""
        replaced = self._follower.health.replaced
        lines = list(self._follower.lines())
        if self._follower.health.replaced != replaced:
            self._begin()
            lines = list(self._follower.lines())
        for line in lines:
            if is_sealed(line):
                self._take(line)
        return self.trials

    def _take(self, line: bytes) -> None:
        if (found := whole(line, PROPOSED)) is not None and found["trial"] == len(self.trials):
            about = {name: found[name] for name in Proposal._fields}
            trial = Trial(found["trial"], **about, runs=_by_seed(found["runs"]), started=found["timestamp"])
            if (stop := found.get("stop")) is not None:
                trial.segments.append(Segment(0, stop, trial.parameters, trial.runs))
            self.trials.append(trial)
            if (again := found.get("again")) is not None:
                self.trials[again].replaced = True
        elif (found := whole(line, REPORTED)) is not None:
            trial = self.trials[found["trial"]]
            trial.reports[found["step"]] = found["value"]
            trial.rungs |= found["rungs"]
            trial.pruned = found["prune"]
        elif (found := whole(line, CONTINUED)) is not None:
            _continue(self.trials[found["trial"]], found)
        elif (found := whole(line, PAUSED)) is not None:
            trial = self.trials[found["trial"]]
            _set_values(trial, TrialState.WAITING, found)
            trial.segments[-1].saved = _by_seed(found["checkpoints"])
        elif (found := whole(line, ENDED)) is not None:
            trial = self.trials[found["trial"]]
            _set_values(trial, TrialState(found["state"]), found)
            trial.reason, trial.ended = found["reason"], found["timestamp"]


def _continue(trial: Trial, found: Mapping[str, Any]) -> None:
    for name in Proposal._fields:
        setattr(trial, name, found[name])
    trial.runs = _by_seed(found["runs"])
    source = None if found["source"] is None else Source(*found["source"])
    resumed = _by_seed(found["checkpoints"])
    trial.segments.append(
        Segment(found["place"], found["stop"], trial.parameters, trial.runs, source, resumed)
    )
    trial.state, trial.reason, trial.ended = TrialState.RUNNING, "", None


def _set_values(trial: Trial, state: TrialState, found: Mapping[str, Any]) -> None:
    trial.state, trial.value, trial.values = state, found["value"], _by_seed(found["values"])
    if trial.segments:
        segment = trial.segments[-1]
        segment.cancelled = state is TrialState.CANCELLED
        segment.value = None if segment.cancelled else trial.value
        if segment.value is not None:
            trial.reports[segment.stop] = segment.value


def _by_seed(found: Mapping[str, Any]) -> dict[int, Any]:
    return {int(seed): one for seed, one in found.items()}


class TrialWriter(TrialLog):
    """Appends to the log; made by the sweep's process, after it has cut off a line that was torn."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._file = self.path.open("a+b")
        self._cut()
        self.read()

    def propose(
        self, proposal: Proposal, runs: Mapping[int, str], again: int | None = None, stop: int | None = None
    ) -> Trial:
        """Record a trial before its runs are started. ``again``: the cancelled trial that it replaces;
        ``stop``: the step of the end of its first segment."""
        number = len(self.trials)
        extra = {"again": again} if stop is None else {"stop": stop}
        self._write(PROPOSED, {"trial": number, **proposal._asdict(), "runs": _texts(runs), **extra})
        return self.trials[number]

    def go_on(
        self,
        trial: int,
        place: int,
        stop: int,
        proposal: Proposal,
        runs: Mapping[int, str],
        source: Source | None,
        checkpoints: Mapping[int, str],
    ) -> Trial:
        """Record a further segment of a trial before its runs are started."""
        about = {"trial": trial, "place": place, "stop": stop, **proposal._asdict(), "runs": _texts(runs)}
        self._write(CONTINUED, {**about, "source": source, "checkpoints": _texts(checkpoints)})
        return self.trials[trial]

    def report(self, trial: Trial, step: int, value: float, rungs: Mapping[str, float], prune: bool) -> None:
        """Record a value on the way, and whether the trial is to be stopped for it."""
        about = {"trial": trial.number, "step": step, "value": value}
        self._write(REPORTED, {**about, "rungs": dict(rungs), "prune": prune})

    def pause(
        self, trial: Trial, value: float, values: Mapping[int, float], checkpoints: Mapping[int, str]
    ) -> None:
        """Record the end of a segment, and the checkpoints that others go on from."""
        about = {"trial": trial.number, "value": value, "values": _texts(values)}
        self._write(PAUSED, {**about, "checkpoints": _texts(checkpoints)})

    def end(
        self, trial: Trial, state: TrialState, reason: str, value: float | None, values: Mapping[int, float]
    ) -> None:
        """Record the end of a trial."""
        about = {"trial": trial.number, "state": str(state), "reason": reason, "value": value}
        self._write(ENDED, {**about, "values": _texts(values)})

    def close(self) -> None:
        self._file.close()

    def _write(self, event: str, content: dict[str, Any]) -> None:
        self._file.write(seal(encode_line({"event": event, "timestamp": time.time(), **content})))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.read()

    def _cut(self) -> None:
        """Cut off a last line without its end: it was being written when its process was killed."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        kept = 0
        for line in self._file:
            kept += len(line) if line.endswith(b"\n") else 0
        if kept != size:
            self._file.truncate(kept)


def _texts(by_seed: Mapping[int, Any]) -> dict[str, Any]:
    return {str(seed): one for seed, one in by_seed.items()}
