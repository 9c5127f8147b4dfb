"""The process on a node that a run lives with.

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

_UNREAD = 15.0  # seconds after which an ended run that is not being read gives its place back


def free_on_nodes() -> dict[str, dict[str, float]]:
    """Return what is free on each node, by its id."""
    from ray._private.state import available_resources_per_node

    return {node: dict(free) for node, free in available_resources_per_node().items()}


class RunActor:
    """Holds the place of the run of a `Job` (``job``, as JSON has it); ``archive`` is our code."""

    def __init__(self, archive: bytes, job: Mapping[str, Any]) -> None:
        import ray

        code = self._unpacked(archive, Path(job["folder"]).expanduser())
        sys.path[:0] = [str(code), str(code / "workers" / "contract")]
        from mosaic_lab.engines.job import Job
        from mosaic_lab.engines.node import NodeRun

        if not ray.get_gpu_ids():
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray leaves it as it was
        context = ray.get_runtime_context()
        self.node_id = context.get_node_id()
        self.run = NodeRun(Job.from_json(job), ray.util.get_node_ip_address())
        self._read = time.monotonic()

    @staticmethod
    def _unpacked(archive: bytes, home: Path) -> Path:
        """Return the folder of our code, unpacked by the function that is in it."""
        with zipfile.ZipFile(io.BytesIO(archive)) as content:
            source = content.read("mosaic_lab/engines/code_archive.py")
        module = types.ModuleType("code_archive")
        exec(compile(source, "code_archive.py", "exec"), module.__dict__)
        folder: Path = module.unpack(archive, home)
        return folder

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
        """See `NodeRun.read`; both are pickled."""
        self._read = time.monotonic()
        return pickle.dumps(await self.run.read(pickle.loads(known), seconds))

    async def frame(self, fps: float) -> bytes:
        """See `NodeFrames.newest`; pickled."""
        return pickle.dumps(self.run.frames.newest(fps))

    async def stop(self, grace_seconds: float) -> None:
        """See `NodeRun.stop`."""
        self.run.stop(grace_seconds)

    async def remove(self) -> None:
        """See `NodeRun.remove`."""
        self.run.remove()

    async def _watch(self) -> None:
        """Give the place back when the run has ended, though no bridge may have read the end."""
        while True:
            await asyncio.sleep(1.0)
            ended = self.run.status.state.finished and not self.run.folder.alive()
            if ended and time.monotonic() - self._read > _UNREAD:
                os._exit(0)
