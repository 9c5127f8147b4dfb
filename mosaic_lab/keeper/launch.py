"""The launch document: all that a keeper must know to start its worker, handed over on its stdin.

It holds the worker's environment, so it is never written to disk.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Launch:
    """``gpus`` are the candidates; ``gpu_count`` of them are taken for this run alone, None: all, shared.

    ``scratch`` is the folder to make for the worker's temporary files, ``gpu_locks`` that of this machine's
    GPU locks; ``max_running`` limits the runs at once in this store (None: this run counts as none of them).
    ``starts_runs``: the worker starts runs, which have keepers of their own and outlive this one.
    ``lifeline`` is a descriptor whose other end a process holds that the run does not outlive. ``bridge``, of
    a run on a cluster, is what `BridgeLink` takes.
    """

    command: list[str]
    environment: dict[str, str]
    grace_seconds: float
    max_running: int | None
    gpus: list[int]
    gpu_count: int | None
    gpu_locks: str
    scratch: str
    starts_runs: bool = False
    lifeline: int | None = None
    bridge: dict[str, Any] | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Launch:
        return cls(**json.loads(text))
