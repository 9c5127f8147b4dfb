"""A third-party worker, independent of MOSAIC Lab."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Metadata:
    name: str
    version: str
    description: str
    author: str | None = None
    upstream_library: str | None = None


@dataclass(frozen=True)
class Capabilities:
    worker_type: str
    supported_paradigms: tuple[str, ...] = ("human_vs_ai", "self_play")
    action_spaces: frozenset[str] = field(default_factory=lambda: frozenset({"discrete", "continuous"}))
    gpu_memory_mb: int | None = None


def get_worker_metadata():
    return Metadata("foreign", "2.3", "Plays at random."), Capabilities("baseline")
