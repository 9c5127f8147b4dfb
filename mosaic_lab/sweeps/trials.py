"""The trials of a sweep, as its log records them: ``trials.jsonl`` in the sweep's folder.

Each line is sealed by a checksum and flushed to the disk before what it announces is done: a trial is
recorded before its runs are started, so a sweep that was killed finds each of them by its id.
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


class Proposal(NamedTuple):
    """What a trial tries: the values that were chosen, the hyperparameters that these make (the same, unless
    the search is a function), and the distributions that the values come from, as `space.to_json` has them.
    """

    parameters: dict[str, Any]
    hyperparameters: dict[str, Any]
    distributions: dict[str, dict[str, Any]]


class TrialState(StrEnum):
    """How a trial is: each of the last four is an end."""

    RUNNING = "running"
    COMPLETED = "completed"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass
class Trial:
    """One proposal of a sweep and what became of it.

    ``parameters`` are the values that were chosen, ``hyperparameters`` what these make: the same, unless the
    search is a function. ``distributions`` are those of the values, as `space.to_json` has them. ``runs`` has
    the id of the run of each seed. ``value`` is the metric of all seeds together, ``values`` of each.
    ``reports`` are the values on the way, by steps; ``rungs`` is what the pruner keeps of them.
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
    pruned: bool = False
    """Whether it is to be stopped at the step of its last report."""
    replaced: bool = False
    """Its parameters were proposed again, after a stop had cancelled it."""

    @property
    def alive(self) -> bool:
        return self.state is TrialState.RUNNING


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
            runs = {int(seed): run for seed, run in found["runs"].items()}
            about = {name: found[name] for name in Proposal._fields}
            self.trials.append(Trial(found["trial"], **about, runs=runs, started=found["timestamp"]))
            if (again := found.get("again")) is not None:
                self.trials[again].replaced = True
        elif (found := whole(line, REPORTED)) is not None:
            trial = self.trials[found["trial"]]
            trial.reports[found["step"]] = found["value"]
            trial.rungs |= found["rungs"]
            trial.pruned = found["prune"]
        elif (found := whole(line, ENDED)) is not None:
            trial = self.trials[found["trial"]]
            trial.state = TrialState(found["state"])
            trial.reason, trial.ended, trial.value = found["reason"], found["timestamp"], found["value"]
            trial.values = {int(seed): value for seed, value in found["values"].items()}


class TrialWriter(TrialLog):
    """Appends to the log; made by the sweep's process, after it has cut off a line that was torn."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._file = self.path.open("a+b")
        self._cut()
        self.read()

    def propose(self, proposal: Proposal, runs: Mapping[int, str], again: int | None) -> Trial:
        """Record a trial before its runs are started. ``again``: the cancelled trial that it replaces."""
        number = len(self.trials)
        about = {"trial": number, **proposal._asdict(), "runs": {str(k): v for k, v in runs.items()}}
        self._write(PROPOSED, {**about, "again": again})
        return self.trials[number]

    def report(self, trial: Trial, step: int, value: float, rungs: Mapping[str, float], prune: bool) -> None:
        """Record a value on the way, and whether the trial is to be stopped for it."""
        about = {"trial": trial.number, "step": step, "value": value}
        self._write(REPORTED, {**about, "rungs": dict(rungs), "prune": prune})

    def end(
        self, trial: Trial, state: TrialState, reason: str, value: float | None, values: Mapping[int, float]
    ) -> None:
        """Record the end of a trial."""
        about = {"trial": trial.number, "state": str(state), "reason": reason, "value": value}
        self._write(ENDED, {**about, "values": {str(seed): one for seed, one in values.items()}})

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
