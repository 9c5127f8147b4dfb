"""The arenas of an evaluation at work: which of them plays what, and what is done when one fails.

Crosses the boundary: `Pool`, which an evaluation's process runs to the end, and `GaveUp` and `Spent`, why it
did not get there. Which arena plays an episode, and when, changes nothing in it.
"""

from __future__ import annotations

import re
import select
import time
from collections import deque
from collections.abc import Collection
from itertools import count
from pathlib import Path
from typing import Any

from mosaic_contract.language.budget import LEDGER
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.arenas.arena_process import ArenaProcess
from mosaic_lab.arenas.setup import EXCHANGES, Setup, passed_to
from mosaic_lab.evaluation.arena_session import Failed, Played, Seated, Stage, Station
from mosaic_lab.evaluation.budgets import Spending, spent_text
from mosaic_lab.evaluation.episode_log import write_episode, write_failure
from mosaic_lab.evaluation.plan import Job, Key, Plan
from mosaic_lab.evaluation.stalls import Stalls
from mosaic_lab.keeper.run_store import RunFolder, write_json

ARENAS = "arenas"
"""The folder, in that of the run, with one for each arena that there was."""
VERSIONS = "versions.json"
_GLANCE = 0.25  # seconds between looks at clocks, and at arenas that are leaving


class GaveUp(Exception):
    """An episode failed, and that was to stop the evaluation; `refused`: it can never be played."""

    def __init__(self, message: str, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


class Spent(Exception):
    """The budget of the language models is spent; what is left can be played with a larger one."""


class Pool:
    """``done`` are the episodes that need not be played any more. ``folder``: that of the run."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        environment: dict[str, str],
        telemetry: Telemetry,
        done: Collection[Key],
    ) -> None:
        self._plan = plan
        self._telemetry = telemetry
        self._folder = folder
        self._setup = Setup(
            env_id=plan.env_id,
            settings=plan.settings,
            max_steps=plan.max_steps,
            family=plan.family,
            arena=plan.arena,
            commands=plan.commands,
            environment=environment,
            passed=passed_to(plan.operators.values()),
            folder=folder,
            step_timeout=plan.step_timeout,
            budget=plan.budget,
            replay=plan.replay,
        )
        self._waiting: dict[str, deque[Job]] = {label: deque() for label in plan.lanes}
        for job in plan.jobs():
            if job.key not in done:
                self._waiting[job.label].append(job)
        self._stations: list[Station] = []
        self._leaving: list[ArenaProcess] = []
        self._retried: set[Key] = set()
        self._reopened: set[str] = set()
        self._unopened: dict[str, str] = {}  # operators that no arena is opened for any more, and why
        # Of operators that had finished before a stop nothing is seated again: theirs are known from then.
        self._versions: dict[str, Any] = RunFolder(folder).document(folder / VERSIONS)
        self._stalls = Stalls(folder, plan.step_timeout)
        self._spent = False
        (folder / EXCHANGES / LEDGER).unlink(missing_ok=True)

    def run(self) -> None:
        """Play what is left to be played. Raises `GaveUp` and `Spent`.

        When the budget is spent no episode begins any more; those that are played go on to their end or to
        where they need what is not there.
        """
        self._staff()
        while self._stations:
            self._listen()
            self._look_at_clock()
            self._staff()
        if self._spent:
            spent = Spending(self._folder / EXCHANGES).read()
            raise Spent(spent_text(self._plan.budget or {}, spent))
        for label, message in self._unopened.items():
            while self._waiting[label]:
                self._write_failure(self._waiting[label].popleft(), message, "")

    def close(self) -> None:
        """End all arenas, whatever they do, and wait for that."""
        for station in self._stations:
            station.give_up("the evaluation was ended")
            self._leaving.append(station.process)
        self._stations.clear()
        while self._leaving:
            self._leaving = [process for process in self._leaving if not process.ended()]
            time.sleep(0.01)

    # ------------------------------------------------------------------ work

    def _staff(self) -> None:
        """Have every arena that is idle play, and start as many as there may be."""
        for station in list(self._stations):
            if station.stage is Stage.IDLE:
                if self._waiting[station.label] and not self._spent:
                    station.play(self._waiting[station.label].popleft())
                else:
                    station.leave()
                    self._dismiss(station)
        while (
            not self._spent and len(self._stations) < self._plan.parallel and (label := self._understaffed())
        ):
            self._start(label)

    def _understaffed(self) -> str | None:
        """The operator with the most episodes for each arena that it has (and a new one); None if all have
        enough of them."""
        arenas = [station.label for station in self._stations]
        starting = [station.label for station in self._stations if station.stage is not Stage.PLAYING]
        loads = {
            label: len(jobs) / (arenas.count(label) + 1)
            for label, jobs in self._waiting.items()
            if len(jobs) > starting.count(label) and label not in self._unopened
        }
        return max(loads, key=lambda label: loads[label]) if loads else None

    def _start(self, label: str) -> None:
        mapping, delay = self._plan.mapping(label), self._plan.step_delay
        try:
            station = Station(label, mapping, self._setup, self._new_folder(label), delay)
        except OSError as error:
            self._not_opened(label, f"an arena could not be started: {error}", False)
            return
        self._stations.append(station)

    def _new_folder(self, label: str) -> Path:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", label)[:40].strip("-") or "operator"
        place = list(self._plan.lanes).index(label)
        folders = (self._folder / ARENAS / f"{place}-{name}.{number}" for number in count(1))
        return next(folder for folder in folders if not folder.exists())

    def _dismiss(self, station: Station) -> None:
        self._stations.remove(station)
        self._leaving.append(station.process)

    # ------------------------------------------------------------------ listening

    def _listen(self) -> None:
        poll = select.poll()
        by_descriptor = {}
        for station in self._stations:
            poll.register(station.process.output, select.POLLIN)
            by_descriptor[station.process.output] = station
            if station.process.unsent:
                poll.register(station.process.input, select.POLLOUT)
                by_descriptor[station.process.input] = station
        for descriptor, _ in poll.poll(1e3 * _GLANCE):
            station = by_descriptor[descriptor]
            if descriptor == station.process.input:
                station.process.flush()
                continue
            lines = station.process.read()
            if lines is None or station.process.oversize:
                self._deal_with(station, station.lost())
            for line in lines or ():
                self._deal_with(station, station.take(line))

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for station in list(self._stations):
            self._deal_with(station, station.overdue(now))
            station.process.cut_logs()
        self._stalls.update(
            (station.job, station.liveness.still(), station.liveness.waits_for)
            for station in self._stations
            if station.job is not None
        )
        self._leaving = [process for process in self._leaving if not process.ended()]

    def _deal_with(self, station: Station, event: Seated | Played | Failed | None) -> None:
        if isinstance(event, Played):
            category = self._plan.category(station.label)
            write_episode(self._telemetry, event.job, event.episode, category, station.path.name)
        elif isinstance(event, Seated):
            self._note_versions(station.label, event.versions)
        elif isinstance(event, Failed):
            station.give_up(event.message.partition("\n")[0])
            self._dismiss(station)
            if event.spent:
                self._spent = True
            elif event.job is None:
                self._not_opened(station.label, event.message, event.refused)
            else:
                self._not_played(event.job, event, station)

    def _note_versions(self, label: str, versions: dict[str, str]) -> None:
        if self._versions.get(label) != versions:
            self._versions[label] = versions
            write_json(self._folder / VERSIONS, self._versions)

    # ------------------------------------------------------------------ failures

    def _not_played(self, job: Job, failed: Failed, station: Station) -> None:
        if self._plan.on_failure == "retry" and job.key not in self._retried:
            self._retried.add(job.key)
            self._waiting[job.label].appendleft(job)
            return
        self._write_failure(job, failed.message, station.path.name)
        if self._plan.on_failure == "stop":
            where = f"{job.label}, seed {job.seed}" + (f", episode {job.episode}" if job.episode else "")
            raise GaveUp(f"{where}: {failed.message}", False)

    def _not_opened(self, label: str, message: str, refused: bool) -> None:
        """There is no arena for an operator: its episodes are played by those that it has, or not at all."""
        if refused or self._plan.on_failure == "stop":
            raise GaveUp(message if refused else f"{label}: {message}", refused)
        if self._plan.on_failure == "retry" and label not in self._reopened:
            self._reopened.add(label)
        else:
            self._unopened[label] = message

    def _write_failure(self, job: Job, message: str, arena: str) -> None:
        write_failure(self._telemetry, job, message, self._plan.category(job.label), arena)
