"""Stalled episodes, shown long before they fail.

The evaluation's process writes them to its folder; the kernel reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mosaic_lab.evaluation.plan import EpisodeJob, episode_text
from mosaic_lab.keeper.run_store import RunFolder, write_json

_FILE = "stalls.json"


@dataclass(frozen=True)
class Stall:
    """An episode without a step since ``since`` (Unix seconds), and a description of what it waits for."""

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
        place = episode_text(self.operator, self.seed, self.episode)
        waits_for = f", {self.waits_for}" if self.waits_for else ""
        return f"no step for {self.seconds:.0f} s: {place}{waits_for}"


class Stalls:
    """The stalls of the evaluation in ``folder``, in a file that is replaced when they change."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._written: list[Stall] | None = None

    def update(self, running: Iterable[tuple[EpisodeJob, float | None, str]]) -> None:
        """Write the stalled episodes among the ``running`` ones, each with the seconds for which it has
        stalled, or None, and what it waits for.
        """
        written = {(stall.operator, stall.seed, stall.episode): stall for stall in self._written or []}
        stalls = []
        for job, seconds, waits_for in running:
            if seconds is not None:
                before = written.get(job.key)
                since = before.since if before is not None else time.time() - seconds
                stalls.append(Stall(*job.key, since, waits_for))
        if stalls != self._written:
            self._written = stalls
            with suppress(OSError):  # a full disk affects only the display
                write_json(self._path, {"stalls": [asdict(stall) for stall in stalls]})


def read_stalls(folder: RunFolder) -> list[Stall]:
    """Return the latest stalls; empty if the file is missing or damaged."""
    try:
        return [Stall(**stall) for stall in folder.document(folder.path / _FILE).get("stalls", [])]
    except TypeError:
        return []
