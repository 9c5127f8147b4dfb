"""One arena of an evaluation, playing one episode after another; see `mosaic_lab.arenas.arena_session`.

After any failure the arena is discarded; the next episode starts in a new arena.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.arena_session import GIVE_UP_SECONDS, ArenaSession, unreadable, unrepeated
from mosaic_lab.arenas.setup import ArenaSetup
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.plan import EpisodeJob
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.sanitize import sanitize


@dataclass(frozen=True)
class Seated:
    """The arena is ready to play. Contains the versions of its environment and operators."""

    versions: dict[str, str]


@dataclass(frozen=True)
class Played:
    """An episode has ended; ``episode`` is the arena's report."""

    job: EpisodeJob
    episode: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """The arena has failed; ``job`` is the episode it was playing, or None.

    ``refused``: the request itself is invalid, so a retry would fail too. ``spent``: the budget of the
    language models is exhausted; the episode can be played with a larger one.
    """

    job: EpisodeJob | None
    message: str
    refused: bool = False
    spent: bool = False


class EpisodePlayer:
    """An arena for the lane ``label``, in a new folder ``path``. Raises OSError if it cannot be started."""

    def __init__(
        self,
        label: str,
        mapping: Mapping[str, OperatorSpec],
        setup: ArenaSetup,
        path: Path,
        step_delay: float,
    ) -> None:
        self.label = label
        self.path = path
        self.job: EpisodeJob | None = None
        """The current episode."""
        self._session = ArenaSession(setup, label, mapping, path)
        self._step_delay = step_delay
        self.process = self._session.process
        self.liveness = self._session.liveness

    @property
    def idle(self) -> bool:
        """Whether an episode can be started."""
        return self._session.seated and self.job is None

    def play(self, job: EpisodeJob) -> None:
        """Start an episode. The player must be idle."""
        self.job = job
        seeds = {"seed": job.episode_seed, "operator_seed": job.operator_seed}
        delay = {"step_delay": self._step_delay} if self._step_delay else {}
        self._session.send({"cmd": "episode", **seeds, "episode_index": job.index, **delay})

    def leave(self) -> None:
        """Close the arena when no episodes remain."""
        self._session.end(State.COMPLETED, "all its episodes were played")

    def give_up(self, reason: str) -> None:
        """Close a failed arena."""
        self._session.end(State.FAILED, reason, GIVE_UP_SECONDS)

    def overdue(self, now: float) -> Failed | None:
        """Return the failure if an answer is overdue."""
        late = self._session.overdue(now)
        return None if late is None else self._failed(late)

    def lost(self) -> Failed | None:
        """Return the failure for an output that has ended or has lost a line."""
        return None if self._session.ended else self._failed(f"its arena {self.process.how_it_ended()}")

    def receive(self, line: bytes) -> Seated | Played | Failed | None:
        """Process one line of the arena's output. Never raises."""
        if self._session.ended:
            return None
        try:
            return self._take(self._session.read_message(line))
        except Exception as error:
            return self._failed(unreadable(line, error))

    def _take(self, message: Mapping[str, Any]) -> Seated | Played | Failed | None:
        session, kind = self._session, message.get("type")
        if kind == "played" and self.job is not None:
            job, self.job = self.job, None
            session.answered()
            return Played(job, message["episode"])
        if kind == "opened" and session.awaiting == "open":
            return self._seat(message)
        if kind == "seated" and session.environment is not None:
            session.seated = True
            session.answered()
            operators = message["operators"].values()
            workers = {
                one["worker"]: one["version"] for one in operators if one["worker"]
            }  # none under the plain protocol
            return Seated({**session.environment.versions, **workers})
        if kind == "error":
            text = str(message.get("message") or "its arena reported an error without a message")
            return self._failed(text, str(message.get("log") or ""), message.get("error_type"))
        return None

    def _seat(self, message: Mapping[str, Any]) -> Failed | None:
        try:
            self._session.opened(message)
        except ConfigurationError as error:
            return Failed(None, f"{self.label}: {error}", refused=True)
        self._session.seat(inside=True)
        return None

    def _failed(self, message: str, log: str = "", kind: Any = None) -> Failed:
        job, self.job = self.job, None
        if kind == "BudgetSpent":
            return Failed(job, sanitize(message), spent=True)
        lines = unrepeated(self._session.last_log(log), message)
        text = sanitize("\n".join([message, *(f"  {line}" for line in lines if line.strip())]))
        return Failed(job, text, refused=kind == "ConfigError")
