"""File-based queues for run slots and GPUs, used by keepers only.

A ticket is valid while its run's keeper lives, and each slot or GPU is a lock, so a killed keeper does not
block other runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import RunFolder


class RunQueue:
    """A queue below ``slots`` that a run joins. Tickets are named by time of joining and run id."""

    def __init__(self, slots: Path, name: str, run_id: str) -> None:
        self._folder = slots / f"{name}-line"
        self._runs = slots.parent
        self._folder.mkdir(parents=True, exist_ok=True)
        self._ticket = f"{time.time_ns():020d}~{run_id}"
        (self._folder / self._ticket).touch()

    def ahead(self) -> int:
        """Return the number of runs ahead of this one; 0 if none of them is alive.

        Tickets of ended runs are removed only at the head of the queue, which keeps polling by hundreds of
        runs cheap.
        """
        tickets = sorted(entry.name for entry in os.scandir(self._folder) if entry.name < self._ticket)
        for place, ticket in enumerate(tickets):
            run_id = ticket.partition("~")[2]
            if RunFolder(self._runs / run_id).alive():
                return len(tickets) - place
            (self._folder / ticket).unlink(missing_ok=True)
        return 0

    def leave(self) -> None:
        (self._folder / self._ticket).unlink(missing_ok=True)


def take_slot(slots: Path, count: int) -> int | None:
    """Take one of ``count`` run slots. Return a descriptor that holds it until closed, or None if all are
    taken."""
    for index in range(count):
        descriptor = locks.take(slots / f"run-{index}")
        if descriptor is not None:
            return descriptor
    return None


def take_gpus(folder: Path, candidates: Sequence[int], count: int | None) -> dict[int, int] | None:
    """Return GPUs as ``{index: descriptor}``, or None if they are taken.

    With ``count``, that many candidates are reserved for this run. Without it, all candidates are taken,
    shared with other runs that requested them.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    taken: dict[int, int] = {}
    for index in candidates:
        if len(taken) == count:
            break
        descriptor = locks.take(folder / f"gpu-{index}", shared=count is None)
        if descriptor is not None:
            taken[index] = descriptor
    if len(taken) == (len(candidates) if count is None else count):
        return taken
    for descriptor in taken.values():
        os.close(descriptor)
    return None
