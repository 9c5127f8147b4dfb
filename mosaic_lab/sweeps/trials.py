"""The trials of a sweep and their log: ``trials.jsonl`` in the sweep's folder.

Each line has a checksum and is flushed to disk before the action it announces: trials, segments and the runs
that resume a trial are recorded before the runs start, so that a killed sweep finds each run by its id.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_contract.codec import encode_line, is_sealed, seal

from mosaic_lab.number_format import full_number
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.stream import decode_message

STOPPED = "the sweep was stopped"
"""The reason of trials cancelled with their sweep, which resumes them."""
PROPOSED, RESUMED, REPORTED, ENDED = "trial_proposed", "trial_resumed", "trial_reported", "trial_ended"
BEGAN = "trial_began"
SEGMENT_PROPOSED, SEGMENT_ENDED = "segment_proposed", "segment_ended"


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


@dataclass(repr=False)
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

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        reached = "" if self.step is None else f" at step {self.step:,}"
        value = "" if self.value is None else f", value {full_number(self.value)}{reached}"
        return f"<trial {self.number}: {self.state}{value}; {chosen}>"

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


class TrialLog:
    """The trials in the log of the sweep in ``folder``, which any process may read and only one writes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trials.jsonl"
        self._lock = threading.Lock()  # a panel's reader and its header read the same log
        self._begin()

    def _begin(self) -> None:
        self._trials: dict[int, Trial] = {}
        self._follower = JsonlFollower(self.path)
        self.damaged = 0
        """Number of skipped lines: unreadable ones, and lines about a trial without a readable proposal."""

    @property
    def trials(self) -> list[Trial]:
        """The trials in order of proposal."""
        return list(self._trials.values())

    def read(self) -> list[Trial]:
        """Read new lines and return all trials."""
        with self._lock:
            self._read()
            return self.trials

    def _read(self) -> None:
        replaced = self._follower.health.replaced
        lines = list(self._follower.lines())
        if self._follower.health.replaced != replaced:
            self._begin()
            lines = list(self._follower.lines())
        for line in lines:
            try:
                if not is_sealed(line):
                    raise ValueError("its checksum does not match its content")
                self._apply(line)
            except (LookupError, TypeError, ValueError, AttributeError):
                self.damaged += 1

    def _apply(self, line: bytes) -> None:
        if (message := decode_message(line, PROPOSED)) is not None:
            values = {name: message[name] for name in Proposal._fields}
            runs, started = _by_seed(message["runs"]), message["timestamp"]
            trial = Trial(message["trial"], **values, runs=runs, started=started, idle_since=started)
            if (stop := message.get("stop")) is not None:
                trial.segments.append(TrialSegment(0, stop, trial.parameters, trial.runs))
            self._trials[trial.number] = trial
            _queue(trial, message)
        elif (message := decode_message(line, BEGAN)) is not None:
            self._trials[message["trial"]].begin(message["began"])
        elif (message := decode_message(line, REPORTED)) is not None:
            trial = self._trials[message["trial"]]
            trial.reports[message["step"]] = message["value"]
            trial.rungs |= message["rungs"]
            trial.pruned = message["prune"]
        elif (message := decode_message(line, RESUMED)) is not None:
            _resume(self._trials[message["trial"]], message)
        elif (message := decode_message(line, SEGMENT_PROPOSED)) is not None:
            _continue(self._trials[message["trial"]], message)
        elif (message := decode_message(line, SEGMENT_ENDED)) is not None:
            trial = self._trials[message["trial"]]
            _set_values(trial, TrialState.WAITING, message)
            trial.segments[-1].saved = _by_seed(message["checkpoints"])
        elif (message := decode_message(line, ENDED)) is not None:
            trial = self._trials[message["trial"]]
            _set_values(trial, TrialState(message["state"]), message)
            trial.reason = message["reason"] or trial.reason  # how the trial resumed after a stop, if it did
            trial.ended, trial.step = message["timestamp"], message.get("step")


def _queue(trial: Trial, message: Mapping[str, Any]) -> None:
    """Record that a trial's runs are about to start. Older versions did not record when they begin."""
    trial.state = TrialState(message.get("state", TrialState.RUNNING))
    if trial.state is TrialState.RUNNING:
        trial.begin(message["timestamp"])


def _resume(trial: Trial, message: Mapping[str, Any]) -> None:
    saved = {
        seed: SavedCheckpoint(*checkpoint) for seed, checkpoint in _by_seed(message["checkpoints"]).items()
    }
    for seed, run in _by_seed(message["runs"]).items():
        step = saved[seed].step if seed in saved else 0
        trial.former.setdefault(seed, []).append(StoppedRun(trial.runs[seed], step))
        trial.runs[seed] = run
    trial.resumed |= {seed: checkpoint.path for seed, checkpoint in saved.items()}
    trial.reason, trial.ended = message["reason"], None
    trial.step, trial.value, trial.values = None, None, {}
    _queue(trial, message)


def _continue(trial: Trial, message: Mapping[str, Any]) -> None:
    for name in Proposal._fields:
        setattr(trial, name, message[name])
    trial.runs = _by_seed(message["runs"])
    source = None if message["source"] is None else SegmentSource(*message["source"])
    resumed = _by_seed(message["checkpoints"])
    trial.segments.append(
        TrialSegment(message["place"], message["stop"], trial.parameters, trial.runs, source, resumed)
    )
    trial.reason, trial.ended = "", None
    _queue(trial, message)


def _set_values(trial: Trial, state: TrialState, message: Mapping[str, Any]) -> None:
    trial.state, trial.value, trial.values = state, message["value"], _by_seed(message["values"])
    if trial.idle_since is None:  # otherwise no run has begun to train
        trial.idle_since = message["timestamp"]
    if trial.segments:
        segment = trial.segments[-1]
        segment.cancelled = state is TrialState.CANCELLED
        segment.value = None if segment.cancelled else trial.value
        if segment.value is not None:
            trial.reports[segment.stop] = segment.value


def _by_seed(by_text: Mapping[str, Any]) -> dict[int, Any]:
    return {int(seed): value for seed, value in by_text.items()}


class TrialWriter(TrialLog):
    """Appends to the log, in the sweep's process; removes a truncated last line first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._file = self.path.open("a+b")
        self._truncate()
        self.read()

    def propose(self, proposal: Proposal, runs: Mapping[int, str], stop: int | None = None) -> Trial:
        """Record a trial before its runs start. ``stop``: the last step of its first segment."""
        number = max(self._trials, default=-1) + 1
        content = {"trial": number, **proposal._asdict(), "runs": _texts(runs), "stop": stop}
        self._write(PROPOSED, {**content, "state": TrialState.QUEUED})
        return self._trials[number]

    def resume(
        self, trial: Trial, runs: Mapping[int, str], checkpoints: Mapping[int, SavedCheckpoint], reason: str
    ) -> None:
        """Record that a stopped trial continues, before its new runs start. A run without a checkpoint starts
        from scratch; ``reason`` describes which case applies."""
        content = {"trial": trial.number, "runs": _texts(runs), "checkpoints": _texts(checkpoints)}
        self._write(RESUMED, {**content, "reason": reason, "state": TrialState.QUEUED})

    def begin(self, trial: Trial, began: float) -> None:
        """Record that the first of a queued trial's runs has been in training since ``began``."""
        self._write(BEGAN, {"trial": trial.number, "began": began})

    def propose_segment(
        self, segment: NextSegment, stop: int, runs: Mapping[int, str], checkpoints: Mapping[int, str]
    ) -> Trial:
        """Record a further segment of a trial before its runs start. It begins with the ``checkpoints`` and
        ends at the step ``stop``."""
        content = {"trial": segment.trial, "place": segment.place, "stop": stop, **segment.proposal._asdict()}
        start = {"runs": _texts(runs), "source": segment.source, "checkpoints": _texts(checkpoints)}
        self._write(SEGMENT_PROPOSED, {**content, **start, "state": TrialState.QUEUED})
        return self._trials[segment.trial]

    def report(self, trial: Trial, step: int, value: float, rungs: Mapping[str, float], prune: bool) -> None:
        """Record an intermediate value, and whether it prunes the trial."""
        content = {"trial": trial.number, "step": step, "value": value}
        self._write(REPORTED, {**content, "rungs": dict(rungs), "prune": prune})

    def end_segment(
        self, trial: Trial, value: float, values: Mapping[int, float], checkpoints: Mapping[int, str]
    ) -> None:
        """Record the end of a segment, and its checkpoints, from which others continue."""
        content = {"trial": trial.number, "value": value, "values": _texts(values)}
        self._write(SEGMENT_ENDED, {**content, "checkpoints": _texts(checkpoints)})

    def end(
        self,
        trial: Trial,
        state: TrialState,
        reason: str,
        value: float | None,
        values: Mapping[int, float],
        step: int | None,
    ) -> None:
        """Record the end of a trial, at the last step of its runs."""
        content = {"trial": trial.number, "state": str(state), "reason": reason, "value": value}
        self._write(ENDED, {**content, "values": _texts(values), "step": step})

    def close(self) -> None:
        self._file.close()

    def _write(self, event: str, content: dict[str, Any]) -> None:
        self._file.write(seal(encode_line({"event": event, "timestamp": time.time(), **content})))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.read()

    def _truncate(self) -> None:
        """Remove an incomplete last line, left by a killed process."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        complete_size = 0
        for line in self._file:
            complete_size += len(line) if line.endswith(b"\n") else 0
        if complete_size != size:
            self._file.truncate(complete_size)


def _texts(by_seed: Mapping[int, Any]) -> dict[str, Any]:
    return {str(seed): value for seed, value in by_seed.items()}
