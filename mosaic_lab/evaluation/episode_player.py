"""One arena of an evaluation, playing one episode after another; see `mosaic_lab.arenas.arena_client`.

After any failure the arena is discarded; the next episode starts in a new arena.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.arena_client import GIVE_UP_SECONDS, LOG_LINES, ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.setup import ArenaSetup
from mosaic_lab.evaluation.plan import EpisodeJob
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.policies import Assignment


@dataclass(frozen=True)
class ArenaReady:
    """The arena is ready to play. Contains the versions of its environment and operators."""

    versions: dict[str, str]


@dataclass(frozen=True)
class EpisodeEnded:
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
    """An arena for the lane ``label`` in ``loop``, in a new folder ``path``. Raises ArenaFailed if it cannot
    be started.
    """

    def __init__(
        self,
        loop: ArenaLoop,
        label: str,
        mapping: Mapping[str, OperatorSpec],
        setup: ArenaSetup,
        path: Path,
        step_delay: float,
    ) -> None:
        self.label = label
        self.job: EpisodeJob | None = None
        """The current episode."""
        self.events: deque[ArenaReady | EpisodeEnded | Failed] = deque()
        """Events that the pool has not processed yet."""
        self._step_delay = step_delay
        self._versions: dict[str, str] = {}
        self.arena = loop.add(ArenaClient(self, setup, label, mapping, path))

    @property
    def idle(self) -> bool:
        """Whether an episode can be started."""
        return self.arena.seated and self.job is None

    def play(self, job: EpisodeJob) -> None:
        """Start an episode. The player must be idle."""
        self.job = job
        seeds = {"seed": job.episode_seed, "operator_seed": job.operator_seed}
        delay = {"step_delay": self._step_delay} if self._step_delay else {}
        self.arena.request({"cmd": "episode", **seeds, "episode_index": job.index, **delay})

    def leave(self) -> None:
        """Close the arena when no episodes remain."""
        self.arena.end(State.COMPLETED, "all its episodes were played")

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Start the operators."""
        self._versions = environment.versions
        arena.seat(assignment, inside=True)

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Process a message of the arena."""
        kind = message.get("type")
        if kind == "played" and self.job is not None:
            arena.answered()
            self.events.append(EpisodeEnded(self.job, message["episode"]))
            self.job = None
        elif kind == "seated":
            operators = message["operators"].values()
            workers = {
                operator["worker"]: operator["version"] for operator in operators if operator["worker"]
            }  # none under the plain protocol
            arena.answered()
            arena.seated = True
            self.events.append(ArenaReady({**self._versions, **workers}))

    def failed(self, failure: ArenaFailed) -> None:
        """Close the arena."""
        job, self.job = self.job, None
        text = f"{self.label}: {failure}" if failure.misfit is not None else str(failure)
        self.arena.end(State.FAILED, text.partition("\n")[0], GIVE_UP_SECONDS)
        spent = failure.kind == "BudgetSpent"
        log = [] if spent else [f"  {line}" for line in failure.log[-LOG_LINES:] if line.strip()]
        self.events.append(Failed(job, "\n".join([text, *log]), failure.refused, spent))
