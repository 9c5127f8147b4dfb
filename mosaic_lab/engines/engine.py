"""The interface to schedulers of jobs on other machines. It exchanges plain data and is independent of run
stores.

Only the bridge uses engines. It calls their coroutines in one event loop, which they must not block, and
their other methods, which may block, in threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mosaic_contract.fastlane import Frame

from mosaic_lab.engines.job import Job


class Unreachable(Exception):
    """The cluster does not answer. Its runs continue. The message gives the reason, if known."""


class NoHead(Unreachable):
    """The head's machine answers, but nothing listens on the port."""


class JobRefused(Exception):
    """The cluster can never run the job. The message is a sentence with the reason."""


class NodeLost(Exception):
    """The node of a run has left the cluster, and the run is lost. The message names the node."""


@dataclass(frozen=True)
class Stop:
    """A stop request: SIGTERM, ``grace_seconds``, SIGKILL. ``reason`` is an optional explanation."""

    grace_seconds: float
    reason: str = ""

    def __str__(self) -> str:
        return f"stopped on request: {self.reason}" if self.reason else "stopped on request"


@dataclass(frozen=True)
class FileChunk:
    """Bytes of a file from ``offset``. ``size`` in bytes and ``changed``, the modification time in
    nanoseconds, describe the whole file."""

    path: str
    offset: int
    data: bytes
    size: int
    changed: int


@dataclass(frozen=True)
class Known:
    """The data of a run that a reader already has: ``grown``, bytes of the growing files; ``others``, size
    and modification time of each other file; and the last ``status`` received."""

    grown: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    status: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Increment:
    """The new data of a run for a reader, in the order in which to process it.

    ``status`` contains ``state``, ``reason`` and ``outcome``, as in `RunStatus.to_dict`. ``complete``: the
    run has ended and nothing is missing.
    """

    status: Mapping[str, Any]
    chunks: tuple[FileChunk, ...] = ()
    complete: bool = False


@dataclass(frozen=True)
class NodeFrame:
    """The newest frame of a run on a node, with its pixels compressed by zlib; None unless it is new.
    ``notice``: the worker's message about its frames; ``ended``: whether no more frames will come."""

    frame: Frame | None
    notice: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Node:
    """A machine of a cluster, with its total and free resources."""

    name: str
    cpus: float
    gpus: float
    free_cpus: float
    free_gpus: float
    labels: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """Runs jobs on other machines. Every method raises Unreachable if the cluster does not answer in time."""

    def submit(self, job: Job, variables: Mapping[str, str], node: str | None) -> None:
        """Start or queue the job. If it was submitted before, find it, on ``node`` if known. ``variables``
        are added to its worker's environment. Raises JobRefused."""

    def node_of(self, run_id: str) -> str | None:
        """Return the identifier of a job's node, for `submit`; None while the job is queued."""

    async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
        """Return the new data of a submitted job, waiting up to ``seconds`` for it.

        Raises NodeLost and JobRefused.
        """

    async def frame(self, run_id: str, fps: float) -> NodeFrame | None:
        """Request ``fps`` frames per second for 2 s. Return the newest, or None if the node does not
        answer."""

    async def stop(self, run_id: str, stop: Stop) -> None:
        """Request the end of a job. A queued job ends immediately."""

    async def forget(self, run_id: str) -> None:
        """Delete the files of a job on its node, after it has ended and been read."""

    def nodes(self) -> list[Node]:
        """Return the cluster's nodes, at least one."""
