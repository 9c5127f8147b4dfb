"""The processes on a node: one actor per run, and one that reads several runs for a bridge.

Ray sends this module by value, so nothing of ours can be imported before our code is unpacked. Arguments and
answers are builtin types, and bytes for our pickled classes, because Ray's client server unpickles everything
it forwards.
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

_LARGE = 4 << 20  # bytes of an answer after which other runs wait for the next
_UNREAD = 15.0  # seconds after which an ended run that is not read releases its resources


def free_on_nodes() -> dict[str, dict[str, float]]:
    """Return the free resources of each node, by its id."""
    from ray._private.state import available_resources_per_node

    return {node: dict(free) for node, free in available_resources_per_node().items()}


def _make_importable(archive: bytes, home: str) -> None:
    """Unpack our code in a node's folder, using the function in the archive itself, and make it
    importable."""
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        source = content.read("mosaic_lab/engines/code_archive.py")
    module = types.ModuleType("code_archive")
    exec(compile(source, "code_archive.py", "exec"), module.__dict__)
    code: Path = module.unpack_code(archive, Path(home).expanduser())
    sys.path[:0] = [str(code), str(code / "workers" / "contract")]


class RunActor:
    """Reserves the resources of the run of a `Job` (``job``, as JSON). ``archive`` is our code."""

    def __init__(self, archive: bytes, job: Mapping[str, Any]) -> None:
        import ray

        _make_importable(archive, job["folder"])
        from mosaic_lab.engines.job import Job
        from mosaic_lab.engines.node import NodeRun

        if not ray.get_gpu_ids():
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray leaves it unchanged
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
        """Start the run; its end also ends this actor. Return True."""
        self.run.start(variables)
        self._watching = asyncio.ensure_future(self._watch())
        return True

    async def read(self, known: bytes, seconds: float) -> bytes:
        """See `NodeFiles.read`. Argument and result are pickled."""
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
        """Release the resources after the run has ended, even if no bridge has read its end."""
        while True:
            await asyncio.sleep(1.0)
            if not self.run.files.status.state.finished or self.run.folder.alive():
                self._read = time.monotonic()  # possibly read by a `NodeReader`
            elif time.monotonic() - self._read > _UNREAD:
                os._exit(0)


class NodeReader:
    """Reads the files of runs on its node with our folder ``home``. ``archive`` is our code."""

    def __init__(self, archive: bytes, home: str) -> None:
        import ray

        _make_importable(archive, home)
        self._home = Path(home).expanduser()
        self._address = ray.util.get_node_ip_address()
        self._files: dict[tuple[str, int], Any] = {}

    async def ready(self) -> bool:
        """Return True once it can read."""
        return True

    async def read(self, request: bytes, seconds: float) -> bytes:
        """Return the changes of several runs, waiting up to ``seconds`` for the first change.

        ``request`` maps (id, attempt) to `Known`; the answer contains an `Increment` for each run with
        changes, at most about 8 MiB. Both are pickled.
        """
        from mosaic_lab.engines.node_files import TICK, NodeFiles, folder_of

        known = pickle.loads(request)
        self._files = {
            key: self._files.get(key) or NodeFiles(folder_of(self._home, *key), self._address)
            for key in known
        }
        deadline = time.monotonic() + seconds
        while not (news := self._news(known)) and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return pickle.dumps(news)

    def _news(self, known: Mapping[tuple[str, int], Any]) -> dict[tuple[str, int], Any]:
        increments, size = {}, 0
        for key, known_files in known.items():
            if size < _LARGE and (increment := self._files[key].news(known_files)):
                increments[key] = increment
                size += sum(len(chunk.data) for chunk in increment.chunks)
        return increments
