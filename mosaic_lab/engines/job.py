"""A run as a node is given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

INPUTS = "inputs"
"""The folder in a node's run folder for files that the run reads: checkpoints, a program."""


@dataclass(frozen=True)
class Job:
    """All that a node needs to start a run's keeper, but the values of its variables.

    ``config`` is the worker's configuration; files that it names are those of ``inputs`` (path in the run
    folder: path here). ``cpus`` and ``gpus`` are reserved for the run on a node that has all ``labels``.
    ``folder`` is ours on the node and ``wheels`` one of wheels there, None where it uses a package index;
    ``tools`` are the requirements of what builds worker environments. It is begun again ``restarts`` times
    when its node is lost, and this is the ``attempt``, from 1.
    """

    run_id: str
    worker: str
    config: Mapping[str, Any]
    folder: str
    grace_seconds: float
    threads: int = 1
    cpus: float = 1
    gpus: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    wheels: str | None = None
    tools: Sequence[str] = ()
    restarts: int = 0
    attempt: int = 1

    @property
    def name(self) -> str:
        """The name of this attempt on the cluster."""
        return f"{self.run_id}.{self.attempt}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Job:
        return cls(**content)


def amounts(cpus: float, gpus: float) -> str:
    """Return ``2 CPUs and 1 GPU``, without what is zero."""
    parts = ((cpus, "CPU"), (gpus, "GPU"))
    return " and ".join(f"{n:g} {what}{'' if n == 1 else 's'}" for n, what in parts if n) or "no CPU"
