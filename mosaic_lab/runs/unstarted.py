"""The seeds of a group that have no run because the kernel that was starting it exited.

While a group is being started, a file below the store's ``.groups`` lists the remaining seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mosaic_lab.keeper.processes import identified, own_identity
from mosaic_lab.keeper.run_store import RunStore, read_json, write_json


@contextmanager
def starting(store: RunStore, group: str) -> Iterator[Callable[[Sequence[int]], None]]:
    """Record that a group is being started; yields a function to call with the remaining seeds."""
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
