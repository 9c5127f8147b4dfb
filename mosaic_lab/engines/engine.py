"""The interface to what runs jobs on other machines. All of it is plain data; an engine knows no run store.

An engine is used by the bridge alone: its coroutines in one event loop, which they never block, and its other
methods, which may, in threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mosaic_contract.fastlane import Frame

from mosaic_lab.engines.job import Job


class Unreachable(Exception):
    """The cluster does not answer; what runs there continues. The text says why, as far as it is known."""


class NoHead(Unreachable):
    """The head's machine answers, but nothing listens there."""


class JobRefused(Exception):
    """The cluster can never run the job. The text is a sentence with the reason."""


class NodeLost(Exception):
    """The node of a run has left the cluster, and the run with it. The text names the node."""


@dataclass(frozen=True)
class Stop:
    """A request that a run ends: SIGTERM, ``grace_seconds``, SIGKILL; ``reason``: why, if that is said."""

    grace_seconds: float
    reason: str = ""

    def __str__(self) -> str:
        return f"stopped on request: {self.reason}" if self.reason else "stopped on request"


@dataclass(frozen=True)
class FileChunk:
    """Bytes of a file from ``offset`` on; ``size`` in bytes and ``changed``, the time of its last change in
    nanoseconds, are the whole file's."""

    path: str
    offset: int
    data: bytes
    size: int
    changed: int


@dataclass(frozen=True)
class Known:
    """The part of a run that a reader has: ``grown``, bytes of the files that only grow; ``others``, bytes
    and time of change of each other file; and the last ``status`` that it was given."""

    grown: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    status: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Increment:
    """The part of a run that is new to a reader, in the order in which it is to be taken.

    ``status`` has ``state``, ``reason`` and ``outcome``, as `RunStatus.to_dict` has them. ``complete``: the
    run has ended and nothing of it is missing.
    """

    status: Mapping[str, Any]
    chunks: tuple[FileChunk, ...] = ()
    complete: bool = False


@dataclass(frozen=True)
class NodeFrame:
    """The newest frame of a run on a node, with its pixels compressed by zlib; None unless it is a new one.

    ``notice``: the worker's message about its frames; ``ended``: whether no more frames will come.
    """

    frame: Frame | None
    notice: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Node:
    """A machine of a cluster: what it has in total, and how much of that is free."""

    name: str
    cpus: float
    gpus: float
    free_cpus: float
    free_gpus: float
    labels: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """Runs jobs somewhere else. Every method raises Unreachable when the cluster does not answer in time."""

    def submit(self, job: Job, variables: Mapping[str, str], node: str | None) -> None:
        """Start the job, or queue it; find it again where it was submitted before, on ``node`` if known.

        ``variables`` are added to its worker's environment. Raises JobRefused.
        """

    def node_of(self, run_id: str) -> str | None:
        """Return the name by which `submit` finds a job's node; None while it is queued."""

    async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
        """Return what is new of a submitted job; wait up to ``seconds`` for it.

        Raises NodeLost and JobRefused.
        """

    async def frame(self, run_id: str, fps: float) -> NodeFrame | None:
        """Request ``fps`` frames a second for 2 s; return the newest, None where the node does not answer."""

    async def stop(self, run_id: str, stop: Stop) -> None:
        """Request the end of a job; one that is queued ends at once."""

    async def forget(self, run_id: str) -> None:
        """Delete what a job has left on its node, which has ended and was read."""

    def nodes(self) -> list[Node]:
        """Return the cluster's nodes, at least one."""
