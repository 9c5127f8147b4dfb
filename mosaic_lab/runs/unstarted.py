"""Groups of runs while they are being started, and those whose start was cut short with its kernel.

A group has a file below the store's ``.groups`` from before
its first run is started until after its last one, with the seeds that remain: the file of a kernel that is
gone says which seeds have no run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mosaic_lab.keeper.processes import identified, own_identity
from mosaic_lab.keeper.run_store import RunStore, read_json, write_json


@contextmanager
def starting(store: RunStore, group: str) -> Iterator[Callable[[Sequence[int]], None]]:
    """While the runs of a group are being started; yields what is called with the seeds that remain."""
    path = _file(store, group)

    def remain(seeds: Sequence[int]) -> None:
        with suppress(OSError):  # a full disk is reported by the run that cannot be started
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"remaining": list(seeds), "starter": own_identity()})

    try:
        yield remain
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def unstarted(store: RunStore) -> dict[str, list[int]]:
    """Return by group the seeds that were never started because their starting kernel exited."""
    found = {}
    for path in sorted(_folder(store).glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            content = read_json(path)
            if not identified(content["starter"]):
                found[path.stem] = [int(seed) for seed in content["remaining"]]
    return found


def _folder(store: RunStore) -> Path:
    return store.root / ".groups"


def _file(store: RunStore, group: str) -> Path:
    return _folder(store) / f"{group.replace('/', '_')}.json"
