"""The description of a run that a node receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

INPUTS = "inputs"
"""The folder in a node's run folder for input files: checkpoints, a program."""

SERVER = "environment_server"
"""The field of a training's configuration with the worker that serves its environment, and its command."""


@dataclass(frozen=True)
class Job:
    """Everything a node needs to start a run's keeper, except the values of variables.

    ``config`` is the worker's configuration; its file names refer to ``inputs`` ({path in the run folder:
    local path}). ``cpus`` and ``gpus`` are reserved on a node with all ``labels``. ``folder`` is our folder
    on the node and ``wheels`` a folder of wheels there, None to use a package index. ``tools`` are the
    requirements of the installer of worker environments. The job is restarted at most ``restarts`` times
    after the loss of a node; ``attempt`` counts from 1.
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
    """Return amounts in words, such as ``2 CPUs and 1 GPU``, without zeros."""
    parts = ((cpus, "CPU"), (gpus, "GPU"))
    return " and ".join(f"{n:g} {what}{'' if n == 1 else 's'}" for n, what in parts if n) or "no CPU"
