"""One arena of an evaluation, playing one episode after the other.

Crosses the boundary: `Station` and what it tells of the arena: `Seated`, `Played`, `Failed`. Its states::

    opening ──► seating ──► idle ◄──► playing
       └───────────┴─────────┴──────────┴──► left

After a failure, whatever it was, an arena is left: the next episode begins in a fresh one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic_contract import decode_line

from mosaic_lab import policies
from mosaic_lab.arenas.arena_process import ArenaProcess
from mosaic_lab.arenas.environment_info import Opened
from mosaic_lab.arenas.lane import OPEN_SECONDS
from mosaic_lab.arenas.lane_folder import Keeping
from mosaic_lab.arenas.liveness import Liveness
from mosaic_lab.arenas.setup import Setup
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.plan import Job
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.plain import plain

_LIMITS = {"opening": OPEN_SECONDS, "seating": OPEN_SECONDS + 10}  # seconds; for playing see `Liveness`
_DOING = {"opening": "make its environment", "seating": "start its operators"}
_LOG_LINES = 15
_GIVE_UP_SECONDS = 0.5  # for an arena that is of no more use to leave by itself
_END_SECONDS = 4.0


class Stage(StrEnum):
    """What a station can be; see this module."""

    OPENING = "opening"
    SEATING = "seating"
    IDLE = "idle"
    PLAYING = "playing"
    LEFT = "left"


@dataclass(frozen=True)
class Seated:
    """The arena is ready to play; with the versions of what it plays with."""

    versions: dict[str, str]


@dataclass(frozen=True)
class Played:
    """An episode has ended; ``episode`` as the arena tells it."""

    job: Job
    episode: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """The arena is of no more use; ``job`` is what it was playing, None where it played nothing yet.

    ``refused``: by what was asked for, so that another try will fail alike. ``spent``: the budget of its
    language models is spent, so that the episode waits for a larger one.
    """

    job: Job | None
    message: str
    refused: bool = False
    spent: bool = False


class Station:
    """An arena for the lane ``label``, in a new folder ``path``. Raises OSError when it cannot be started."""

    def __init__(
        self, label: str, mapping: Mapping[str, OperatorSpec], setup: Setup, path: Path, step_delay: float
    ) -> None:
        self.label = label
        self.path = path
        self.job: Job | None = None
        self._mapping = mapping
        self._setup = setup
        self._step_delay = step_delay
        self._opened: Opened | None = None
        self.liveness = Liveness(setup.step_timeout)
        """Of the episode that it plays."""
        command = [*setup.arena, "--arena"]
        config = setup.config(label, 0)
        keeping = Keeping(path, config, worker=setup.family, label=label, command=command)
        try:
            self.process = ArenaProcess(command, setup.environment, keeping)
        except OSError as error:
            keeping.end(State.FAILED, f"its arena could not be started: {error}", None)
            raise
        self._enter(Stage.OPENING)
        self.process.tell({"cmd": "open", **setup.opening(path)})

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        limit = _LIMITS.get(stage)
        self.deadline = None if limit is None else time.monotonic() + limit
        """When the arena has to be done with what it does (`time.monotonic`)."""

    def play(self, job: Job) -> None:
        """Begin an episode; it must be idle."""
        self.job = job
        self._enter(Stage.PLAYING)
        self.liveness.begin()
        seeds = {"seed": job.episode_seed, "operator_seed": job.operator_seed}
        message = {"cmd": "episode", **seeds, "episode_index": job.index}
        self.process.tell(message | ({"step_delay": self._step_delay} if self._step_delay else {}))

    def leave(self) -> None:
        """There is nothing more to play."""
        self._enter(Stage.LEFT)
        self.process.leave(State.COMPLETED, "all its episodes were played", _END_SECONDS)

    def give_up(self, reason: str) -> None:
        """It is of no more use."""
        self._enter(Stage.LEFT)
        self.process.leave(State.FAILED, reason, _GIVE_UP_SECONDS)

    def overdue(self, now: float) -> Failed | None:
        if self.stage is Stage.PLAYING:
            hung = self.liveness.overdue()
            return None if hung is None else self._failed(hung)
        if self.deadline is None or now < self.deadline:
            return None
        what, seconds = _DOING[self.stage], _LIMITS[self.stage]
        return self._failed(f"its arena did not {what} in {seconds:g} s")

    def lost(self) -> Failed | None:
        """The arena's output has ended."""
        if self.stage is Stage.LEFT:
            return None
        return self._failed(f"its arena {self.process.last_word()}")

    def take(self, line: bytes) -> Seated | Played | Failed | None:
        """One line of the arena's. Nothing raises here, whatever it holds."""
        if self.stage is Stage.LEFT:
            return None
        try:
            return self._take(decode_line(line))
        except Exception as error:
            said = line[:200].decode("utf-8", "replace")
            return self._failed(f"its arena said what cannot be understood ({error!r}): {said}")

    def _take(self, message: Mapping[str, Any]) -> Seated | Played | Failed | None:
        kind = message.get("type")
        self.liveness.heard(message)
        if kind == "played" and self.job is not None:
            job, self.job = self.job, None
            self._enter(Stage.IDLE)
            return Played(job, message["episode"])
        if kind == "opened" and self.stage is Stage.OPENING:
            return self._seat(Opened.from_message(message))
        if kind == "seated" and self._opened is not None:
            self._enter(Stage.IDLE)
            seated = message["operators"].values()
            workers = {
                one["worker"]: one["version"] for one in seated if one["worker"]
            }  # a plain one has none
            return Seated({**self._opened.versions, **workers})
        if kind == "error":
            text = str(message.get("message") or "its arena tells no reason")
            return self._failed(text, str(message.get("log") or ""), message.get("error_type"))
        return None

    def _seat(self, opened: Opened) -> Failed | None:
        self._opened = opened
        try:
            assignment = policies.assign(self._mapping, opened)
        except ConfigurationError as error:
            return Failed(None, f"{self.label}: {error}", refused=True)
        operators = {
            key: {
                **self._setup.seat(key, spec, self.path.name, self.label),
                "inside": self._may_be_inside(spec),
            }
            for key, spec in assignment.operators.items()
        }
        self._enter(Stage.SEATING)
        self.process.tell({"cmd": "seat", "operators": operators, "seats": assignment.seats})
        return None

    def _may_be_inside(self, spec: OperatorSpec) -> bool:
        """Whether the arena's process may run the operator too: one that does not keep it from responding for
        as long as a language model may take, does not end it at a deadline, and has no variables of its own.
        """
        alike = spec.worker == self._setup.family and not spec.is_language_model
        return alike and spec.fallback == "wait" and not spec.pass_env

    def _failed(self, message: str, log: str = "", kind: Any = None) -> Failed:
        job, self.job = self.job, None
        if kind == "BudgetSpent":
            return Failed(job, plain(message), spent=True)
        lines = log.rstrip().splitlines()[-_LOG_LINES:] or last_lines(self.path / "worker.log", _LOG_LINES)
        text = plain("\n".join([message, *(f"  {line}" for line in lines if line.strip())]))
        return Failed(job, text, refused=kind == "ConfigError")
