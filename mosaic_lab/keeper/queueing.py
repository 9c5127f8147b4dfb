"""Queues made of files, and the resources that they lead to: run slots and GPUs. Used by keepers only.

A ticket counts only while its run's keeper lives, and a slot or GPU is a lock, so a killed keeper blocks no
other run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import RunFolder


class RunQueue:
    """A queue below ``slots``, which a run joins; tickets are named by time of joining and run id."""

    def __init__(self, slots: Path, name: str, run_id: str) -> None:
        self._folder = slots / f"{name}-line"
        self._runs = slots.parent
        self._folder.mkdir(parents=True, exist_ok=True)
        self._ticket = f"{time.time_ns():020d}~{run_id}"
        (self._folder / self._ticket).touch()

    def ahead(self) -> int:
        """Return the number of runs ahead of this one; 0 when none of them is alive.

        Tickets of runs that have ended are removed at the head of the queue only, which keeps polling by
        hundreds of runs cheap.
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
    """One of ``count`` run slots: a descriptor that holds it until closed, or None while all are taken."""
    for index in range(count):
        descriptor = locks.take(slots / f"run-{index}")
        if descriptor is not None:
            return descriptor
    return None


def take_gpus(folder: Path, candidates: Sequence[int], count: int | None) -> dict[int, int] | None:
    """GPUs as ``{index: descriptor}``, or None while they are taken.

    With a ``count``, that many of the candidates, for this run alone. Without, exactly the candidates, shared
    with other runs that named them too.
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
