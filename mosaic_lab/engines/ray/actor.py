"""The processes on a node: one that each run lives with, and one that reads several runs for a bridge.

Ray sends what is here by value: it imports nothing of ours before it has unpacked our code. Arguments and
answers are builtin types, and bytes where ours are pickled: Ray's server for clients unpickles what passes.
"""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import sys
import time
import types
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LARGE = 4 << 20  # bytes in an answer, after which other runs wait for the next
_UNREAD = 15.0  # seconds after which an ended run that is not being read gives its place back


def free_on_nodes() -> dict[str, dict[str, float]]:
    """Return what is free on each node, by its id."""
    from ray._private.state import available_resources_per_node

    return {node: dict(free) for node, free in available_resources_per_node().items()}


def _make_importable(archive: bytes, home: str) -> None:
    """Unpack our code in a node's folder, by the function that is in it, and import from there."""
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        source = content.read("mosaic_lab/engines/code_archive.py")
    module = types.ModuleType("code_archive")
    exec(compile(source, "code_archive.py", "exec"), module.__dict__)
    code: Path = module.unpack(archive, Path(home).expanduser())
    sys.path[:0] = [str(code), str(code / "workers" / "contract")]


class RunActor:
    """Holds the place of the run of a `Job` (``job``, as JSON has it); ``archive`` is our code."""

    def __init__(self, archive: bytes, job: Mapping[str, Any]) -> None:
        import ray

        _make_importable(archive, job["folder"])
        from mosaic_lab.engines.job import Job
        from mosaic_lab.engines.node import NodeRun

        if not ray.get_gpu_ids():
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray leaves it as it was
        context = ray.get_runtime_context()
        self.node_id = context.get_node_id()
        self.run = NodeRun(Job.from_json(job), ray.util.get_node_ip_address())
        self._read = time.monotonic()

    async def where(self) -> str:
        """Return the id of the node."""
        return str(self.node_id)

    async def started(self) -> bool:
        """Return whether the run was started on this node."""
        return bool(self.run.started)

    async def put(self, path: str, offset: int, data: bytes) -> None:
        """See `NodeRun.put`."""
        self.run.put(path, offset, data)

    async def start(self, variables: Mapping[str, str]) -> bool:
        """Start the run, whose end ends this actor; True."""
        self.run.start(variables)
        self._watching = asyncio.ensure_future(self._watch())
        return True

    async def read(self, known: bytes, seconds: float) -> bytes:
        """See `NodeFiles.read`; both are pickled."""
        self._read = time.monotonic()
        return pickle.dumps(await self.run.files.read(pickle.loads(known), seconds))

    async def frame(self, fps: float) -> bytes:
        """See `NodeFrames.newest`; pickled."""
        return pickle.dumps(self.run.frames.newest(fps))

    async def stop(self, stop: bytes) -> None:
        """See `NodeRun.stop`; pickled."""
        self.run.stop(pickle.loads(stop))

    async def remove(self) -> None:
        """See `NodeRun.remove`."""
        self.run.remove()

    async def _watch(self) -> None:
        """Give the place back when the run has ended, though no bridge may have read the end."""
        while True:
            await asyncio.sleep(1.0)
            if not self.run.files.status.state.finished or self.run.folder.alive():
                self._read = time.monotonic()  # by a `NodeReader`, perhaps
            elif time.monotonic() - self._read > _UNREAD:
                os._exit(0)


class NodeReader:
    """Reads the files of runs on its node, whose own folder is ``home``; ``archive`` is our code."""

    def __init__(self, archive: bytes, home: str) -> None:
        import ray

        _make_importable(archive, home)
        self._home = Path(home).expanduser()
        self._address = ray.util.get_node_ip_address()
        self._files: dict[tuple[str, int], Any] = {}

    async def ready(self) -> bool:
        """Return True when it can read."""
        return True

    async def read(self, wanted: bytes, seconds: float) -> bytes:
        """Return what is new of some runs; wait up to ``seconds`` for the first of them that has something.

        ``wanted`` has what is `Known` of each, by id and attempt; the answer has `Increment`s of those with
        something new, about 8 MiB at most. Both are pickled.
        """
        from mosaic_lab.engines.node_files import TICK, NodeFiles, folder_of

        known = pickle.loads(wanted)
        self._files = {
            key: self._files.get(key) or NodeFiles(folder_of(self._home, *key), self._address)
            for key in known
        }
        deadline = time.monotonic() + seconds
        while not (found := self._news(known)) and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return pickle.dumps(found)

    def _news(self, known: Mapping[tuple[str, int], Any]) -> dict[tuple[str, int], Any]:
        found, size = {}, 0
        for key, one in known.items():
            if size < _LARGE and (increment := self._files[key].news(one)):
                found[key] = increment
                size += sum(len(chunk.data) for chunk in increment.chunks)
        return found
