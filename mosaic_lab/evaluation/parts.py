"""Parts of an evaluation on a cluster: runs in its folder ``parts``, each playing some of its episodes.

A part is an evaluation of one operator. Its records and steps are mirrored here like those of any run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from msgspec import structs

from mosaic_lab.evaluation.episode_log import EpisodeLog, Record
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan, Key
from mosaic_lab.evaluation.pool import ARENAS
from mosaic_lab.keeper.run_store import is_run_id
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run

PARTS = "parts"
"""Subfolder of the run folder that contains the parts' run folders."""
GRACE_SECONDS = 20.0
"""Seconds for the parts to end after a stop and for their last episodes to arrive."""
_MIN_EPISODES = 10  # episodes
_WORTH_SECONDS = 10.0  # of play, about as long as starting a part takes
_SEPARATOR = "."  # separates part and folder in an arena's name


def chunk_size(waiting: int, parallel: int, seconds: float | None = None) -> int:
    """Return how many of the ``waiting`` episodes the next part plays if ``parallel`` parts run at once.

    Guided self-scheduling (Polychronopoulos and Kuck 1987) keeps the last chunks short. A part plays at least
    ten episodes and, if the ``seconds`` per episode are known, enough to take longer than its own start.
    """
    minimum = _MIN_EPISODES if not seconds else max(_MIN_EPISODES, ceil(_WORTH_SECONDS / seconds))
    return min(waiting, max(minimum, ceil(waiting / (2 * parallel))))


def part_plan(plan: EvaluationPlan, jobs: Sequence[EpisodeJob]) -> EvaluationPlan:
    """Return the plan of a part that plays these episodes, which all have the same operator."""
    lane = plan.lanes[jobs[0].label]
    operators = {key: plan.operators[key] for key in lane.values()}
    seeds = {job.seed: job.index // plan.request.episodes for job in jobs}
    files = {str(path) for spec in operators.values() for path in spec.files.values()}
    return replace(
        plan,
        request=structs.replace(plan.request, on=None),
        parallel=1,
        arena=[],
        commands={},
        operators=operators,
        lanes={jobs[0].label: lane},
        seeds=list(seeds),
        places=list(seeds.values()),
        digests={path: digest for path, digest in plan.digests.items() if path in files},
        only=[job.key for job in jobs],
    )


class Part:
    """A part of an evaluation, with its run. ``adopted``: started by an earlier process of the evaluation."""

    def __init__(self, run: Run, adopted: bool) -> None:
        self.run = run
        self.adopted = adopted
        self.keys: list[Key] = [
            (str(label), int(seed), int(episode)) for label, seed, episode in run.config.get("only") or ()
        ]
        """The part's episodes."""
        self._seen: set[Key] = set()
        self._log = EpisodeLog(run.folder.telemetry_path)

    @property
    def episode_count(self) -> int:
        """The number of recorded episodes read so far."""
        return len(self._seen)

    def read(self) -> list[Record]:
        """Return the episodes recorded since the last call, with arena names as `arena_path` expects them."""
        records = self._log.read()
        if len(records) == len(self._seen):
            return []
        new = {key: record for key, record in records.items() if key not in self._seen}
        self._seen |= new.keys()
        return [{**record, "arena": self._named(record["arena"])} for record in new.values()]

    def _named(self, arena: str) -> str:
        return f"{self.run.id}{_SEPARATOR}{arena}" if arena else ""


def arena_path(folder: Path, name: str) -> Path:
    """Return the folder of an arena of the evaluation in ``folder``, by its name in an episode's record."""
    part, _, arena = name.partition(_SEPARATOR)
    return folder / PARTS / part / ARENAS / arena if is_run_id(part) else folder / ARENAS / name


def parts_text(parts: Sequence[Run]) -> str:
    """Describe the playing and starting parts: "2 parts play, 1 starts (waits for 1 CPU; …)"."""
    states = [(part.state, part) for part in parts]
    playing = sum(state in (State.RUNNING, State.STOPPING) for state, _ in states)
    waiting = [part for state, part in states if state in (State.QUEUED, State.STARTING)]
    texts = [f"{_counted(playing)} {'plays' if playing == 1 else 'play'}"] if playing else []
    if waiting:
        subject = f"{len(waiting)}" if playing else _counted(len(waiting))
        texts.append(f"{subject} {'starts' if len(waiting) == 1 else 'start'} ({waiting[0].reason})")
    return ", ".join(texts)


def _counted(parts: int) -> str:
    return "1 part" if parts == 1 else f"{parts} parts"
