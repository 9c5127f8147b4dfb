"""The pool of an evaluation's arenas: the scheduling of episodes and the handling of failures.

An evaluation's process runs a `Pool` to the end, or until `EvaluationAborted` or `BudgetExhausted`. An
episode's result does not depend on which arena plays it, or when. After any failure an arena is discarded,
and the next episode starts in a new one. Stalled episodes are written to the run folder, for the kernel, long
before they fail.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from mosaic_contract.language.budget import LEDGER
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.arenas.arena_client import GIVE_UP_SECONDS, LOG_LINES, ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import EXCHANGES, ArenaSetup, folder_name, passed_to
from mosaic_lab.evaluation.budgets import BUDGET_SPENT, Spending, spent_text
from mosaic_lab.evaluation.episode_log import write_episode, write_failure
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan, Key, episode_text
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.warm_workers import WarmWorkers
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.policies import Assignment
from mosaic_lab.runs.run_process import RunAborted, RunCurtailed

_STALLS_FILE = "stalls.json"
ARENAS = "arenas"
"""Subfolder of the run folder with one folder per started arena."""
VERSIONS = "versions.json"

QueueKey = tuple[str, int]
"""A lane and its batch size, the number of its episodes that an arena plays together."""


@dataclass(frozen=True)
class Stall:
    """An episode that has made no step since ``since`` (Unix seconds), with what it waits for."""

    operator: str
    seed: int
    episode: int
    since: float
    waits_for: str

    @property
    def seconds(self) -> float:
        """The stall's duration so far, in seconds."""
        return max(0.0, time.time() - self.since)

    def __str__(self) -> str:
        episode = episode_text(self.operator, self.seed, self.episode)
        waits_for = f", {self.waits_for}" if self.waits_for else ""
        return f"no step for {self.seconds:.0f} s: {episode}{waits_for}"


class Stalls:
    """The stalls of the evaluation in ``folder``, in a file that is replaced when they change."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _STALLS_FILE
        self._last_written: list[Stall] | None = None

    def update(self, running: Iterable[tuple[EpisodeJob, float | None, str]]) -> None:
        """Write the stalled episodes among the ``running`` ones. Each comes with the seconds for which it has
        stalled (None: it has not) and what it waits for."""
        previous = {(stall.operator, stall.seed, stall.episode): stall for stall in self._last_written or []}
        stalls = []
        for job, seconds, waits_for in running:
            if seconds is not None:
                stall = previous.get(job.key)
                since = time.time() - seconds if stall is None else stall.since
                stalls.append(Stall(*job.key, since, waits_for))
        if stalls != self._last_written:
            self._last_written = stalls
            with suppress(OSError):  # a full disk affects only the display
                write_json(self._path, {"stalls": [asdict(stall) for stall in stalls]})


def read_stalls(folder: RunFolder) -> list[Stall]:
    """Return the latest stalls; empty if the file is missing or damaged."""
    try:
        return [Stall(**stall) for stall in folder.document(folder.path / _STALLS_FILE).get("stalls", [])]
    except TypeError:
        return []


@dataclass(frozen=True)
class ArenaReady:
    """The arena is ready to play, with these versions of its environment and operators."""

    versions: dict[str, str]


@dataclass(frozen=True)
class EpisodeEnded:
    """An episode has ended; ``episode`` is the arena's report."""

    job: EpisodeJob
    episode: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """The arena has failed; ``jobs`` are the episodes it was playing.

    ``refused``: the request itself is invalid, so a retry would fail too. ``spent``: the language models'
    budget is exhausted; the episode can be played with a larger one.
    """

    jobs: list[EpisodeJob]
    message: str
    refused: bool = False
    spent: bool = False


class EpisodePlayer:
    """An arena for the lane ``label`` in ``loop``, with a new folder ``path``, that plays up to ``batch``
    episodes together. Raises ArenaFailed if it cannot be started."""

    def __init__(
        self,
        loop: ArenaLoop,
        label: str,
        mapping: Mapping[str, OperatorSpec],
        setup: ArenaSetup,
        path: Path,
        step_delay: float,
        batch: int,
    ) -> None:
        self.label, self.batch = label, batch
        self.jobs: dict[int, EpisodeJob] = {}
        """The current episodes, by their index."""
        self.ended_count = 0
        """The number of episodes that have ended."""
        self.events: deque[ArenaReady | EpisodeEnded | Failed] = deque()
        """Events that the pool has not processed yet."""
        self._step_delay = step_delay
        self._versions: dict[str, str] = {}
        self.arena = loop.add(ArenaClient(self, setup, label, mapping, path, inside=True))

    @property
    def vacant(self) -> bool:
        """Whether an episode can be started."""
        return self.arena.seated and len(self.jobs) < self.batch

    def play(self, job: EpisodeJob) -> None:
        """Start an episode. The player must be vacant."""
        self.jobs[job.index] = job
        seeds = {"seed": job.episode_seed, "operator_seed": job.operator_seed}
        delay = {"step_delay": self._step_delay} if self._step_delay else {}
        self.arena.request({"cmd": "episode", **seeds, "episode_index": job.index, **delay})

    @property
    def queue(self) -> QueueKey:
        """The queue it takes episodes from."""
        return self.label, self.batch

    def leave(self) -> None:
        """Close the arena when no episodes remain."""
        self.arena.end(State.COMPLETED, "all its episodes were played")

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Start the operators."""
        self._versions = environment.versions
        arena.seat(assignment, batch=self.batch)

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Process a message from the arena."""
        kind = message.get("type")
        if kind == "played":
            episode = message["episode"]
            self.events.append(EpisodeEnded(self.jobs.pop(episode["episode_index"]), episode))
            self.ended_count += 1
            if not self.jobs:
                arena.answered()
        elif kind == "seated":
            operators = message["operators"].values()
            workers = {
                operator["worker"]: operator["version"] for operator in operators if operator["worker"]
            }  # operators of the plain protocol have none
            arena.answered()
            arena.seated = True
            self.events.append(ArenaReady({**self._versions, **workers}))

    def failed(self, failure: ArenaFailed) -> None:
        """Close the arena."""
        jobs, self.jobs = list(self.jobs.values()), {}
        text = f"{self.label}: {failure}" if failure.misfit is not None else str(failure)
        self.arena.end(State.FAILED, text.partition("\n")[0], GIVE_UP_SECONDS)
        spent = failure.kind == "BudgetSpent"
        log = [] if spent else [f"  {line}" for line in failure.log[-LOG_LINES:] if line.strip()]
        self.events.append(Failed(jobs, "\n".join([text, *log]), failure.refused, spent))


class EvaluationAborted(RunAborted):
    """Raised when a failed episode ends the evaluation; ``refused``: it can never be played."""

    def __init__(self, message: str, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused
        self.error_type = "ConfigError" if refused else "EpisodeFailed"


class BudgetExhausted(RunCurtailed):
    """Raised when the budget of the language models is exhausted; a larger one allows more episodes."""

    results: ClassVar = {BUDGET_SPENT: True}


class Pool:
    """Arenas that play the episodes of a plan, except those ``done``.

    ``folder`` is the run's, ``variables`` are the environment variables of its processes, and ``warm`` are
    warm workers, which may start operators.
    """

    def __init__(
        self,
        plan: EvaluationPlan,
        folder: Path,
        variables: dict[str, str],
        telemetry: Telemetry,
        done: Collection[Key],
        warm: WarmWorkers | None = None,
    ) -> None:
        self._plan = plan
        self._telemetry = telemetry
        self._folder = folder
        self._setup = ArenaSetup(
            plan=plan,
            arena=plan.arena,
            commands=plan.commands,
            variables=variables,
            passed=passed_to(plan.operators.values()),
            folder=folder,
            budget=plan.request.budget,
            replay=plan.replay,
            warm=warm,
        )
        self._waiting: dict[QueueKey, deque[EpisodeJob]] = defaultdict(deque)
        for job in plan.jobs():
            if job.key not in done:
                self._waiting[job.label, plan.batches.get(job.label, 1)].append(job)
        self._loop = ArenaLoop()
        self._players: list[EpisodePlayer] = []
        self._retried: set[Key] = set()
        self._reopened: set[str] = set()
        self._unopened: dict[str, str] = {}  # operators for which no more arenas are opened, with the reason
        # Operators that finished before a stop are not started again; their versions were recorded then.
        self._versions: dict[str, Any] = RunFolder(folder).document(folder / VERSIONS)
        self._stalls = Stalls(folder)
        self._budget_exhausted = False
        (folder / EXCHANGES / LEDGER).unlink(missing_ok=True)

    def run(self) -> None:
        """Play the remaining episodes. Raises `EvaluationAborted` and `BudgetExhausted`.

        Once the budget is exhausted, no further episode starts; running episodes continue until they end or
        make a call that the budget does not cover.
        """
        self._assign_arenas()
        while self._players:
            self._loop.work(self._loop.wait())
            for player in list(self._players):
                while player.events:
                    self._handle(player, player.events.popleft())
            self._stalls.update(
                (job, player.arena.liveness.stalled, player.arena.liveness.waits_for)
                for player in self._players
                for job in player.jobs.values()
            )
            self._assign_arenas()
        if self._budget_exhausted:
            spent = Spending(self._folder / EXCHANGES).read()
            text = spent_text(self._plan.request.budget or {}, spent)
            raise BudgetExhausted(f"{text}; resume(budget=…) continues with a larger one")
        for (label, _), jobs in self._waiting.items():
            while jobs:
                self._write_failure(jobs.popleft(), self._unopened[label], "")

    def close(self) -> None:
        """Close all arenas, whatever their state, and wait for their end."""
        self._players.clear()
        self._loop.close(State.FAILED, "the evaluation was ended")

    # ------------------------------------------------------------------ work

    def _assign_arenas(self) -> None:
        """Give every vacant arena its share of the episodes, and start as many more arenas as allowed."""
        for player in list(self._players):
            waiting = self._waiting[player.queue]
            peers = [peer for peer in self._players if peer.queue == player.queue]
            share = math.ceil((len(waiting) + sum(len(peer.jobs) for peer in peers)) / len(peers))
            while waiting and player.vacant and len(player.jobs) < share and not self._budget_exhausted:
                player.play(waiting.popleft())
            if player.arena.seated and not player.jobs:
                player.leave()
                self._players.remove(player)
        while (
            not self._budget_exhausted
            and len(self._players) < self._plan.parallel
            and (queue := self._neediest_queue())
        ):
            self._start(*queue)

    def _neediest_queue(self) -> QueueKey | None:
        """Return the queue with the most remaining episodes per arena, counting a new one; None if all have
        enough arenas."""
        arenas = [player.queue for player in self._players]
        starting = [player.queue for player in self._players if not player.jobs]
        loads = {
            queue: len(jobs) / (arenas.count(queue) + 1)
            for queue, jobs in self._waiting.items()
            if len(jobs) > starting.count(queue) and queue[0] not in self._unopened
        }
        return max(loads, key=lambda queue: loads[queue]) if loads else None

    def _start(self, label: str, batch: int) -> None:
        mapping, delay = self._plan.mapping(label), self._plan.request.step_delay
        path = self._new_folder(label)
        try:
            player = EpisodePlayer(self._loop, label, mapping, self._setup, path, delay, batch)
        except ArenaFailed as failure:
            self._handle_failed_opening(label, str(failure), False)
            return
        self._players.append(player)

    def _new_folder(self, label: str) -> Path:
        name = folder_name(list(self._plan.lanes).index(label), label)
        folders = (self._folder / ARENAS / f"{name}.{number}" for number in count(1))
        return next(folder for folder in folders if not folder.exists())

    # ------------------------------------------------------------------ events

    def _handle(self, player: EpisodePlayer, event: ArenaReady | EpisodeEnded | Failed) -> None:
        if isinstance(event, EpisodeEnded):
            category = self._plan.category(player.label)
            write_episode(self._telemetry, event.job, event.episode, category, player.arena.path.name)
        elif isinstance(event, ArenaReady):
            self._note_versions(player.label, event.versions)
        else:
            self._players.remove(player)
            if event.spent:
                self._budget_exhausted = True
            elif player.batch > 1:
                self._requeue_singly(player, event.jobs)
            elif not event.jobs:
                self._handle_failed_opening(player.label, event.message, event.refused)
            else:
                self._handle_failed_episode(event.jobs[0], event, player)

    def _note_versions(self, label: str, versions: dict[str, str]) -> None:
        if self._versions.get(label) != versions:
            self._versions[label] = versions
            write_json(self._folder / VERSIONS, self._versions)

    # ------------------------------------------------------------------ failures

    def _requeue_singly(self, player: EpisodePlayer, jobs: list[EpisodeJob]) -> None:
        """Queue the episodes of a failed batch to be played one at a time, so that each failure is recorded
        for its own episode. If no episode of the batch had ended, the lane's remaining episodes follow."""
        if not player.ended_count:
            jobs += self._waiting.pop(player.queue, ())
        self._waiting[player.label, 1].extend(jobs)

    def _handle_failed_episode(self, job: EpisodeJob, failed: Failed, player: EpisodePlayer) -> None:
        if self._plan.request.on_failure == "retry" and job.key not in self._retried:
            self._retried.add(job.key)
            self._waiting[job.label, 1].appendleft(job)
            return
        self._write_failure(job, failed.message, player.arena.path.name)
        if self._plan.request.on_failure == "stop":
            raise EvaluationAborted(f"{episode_text(*job.key)}: {failed.message}", False)

    def _handle_failed_opening(self, label: str, message: str, refused: bool) -> None:
        """Continue without a new arena for an operator. Its existing arenas play its episodes; if there are
        none, its episodes fail."""
        if refused or self._plan.request.on_failure == "stop":
            raise EvaluationAborted(message if refused else f"{label}: {message}", refused)
        if self._plan.request.on_failure == "retry" and label not in self._reopened:
            self._reopened.add(label)
        else:
            self._unopened[label] = message

    def _write_failure(self, job: EpisodeJob, message: str, arena: str) -> None:
        write_failure(self._telemetry, job, message, self._plan.category(job.label), arena)
