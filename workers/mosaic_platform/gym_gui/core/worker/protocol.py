"""Metadata and capabilities of a worker, and the interfaces of its configuration and runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Protocol, runtime_checkable


@dataclass(frozen=True)
class WorkerMetadata:
    """A worker's name and version, and the library that it wraps."""

    name: str
    version: str
    description: str = ""
    author: str = ""
    homepage: str = ""
    upstream_library: Optional[str] = None
    upstream_version: Optional[str] = None
    license: str = ""


@dataclass(frozen=True)
class WorkerCapabilities:
    """A worker's capabilities and requirements, in the platform's own terms."""

    worker_type: str
    supported_paradigms: tuple[str, ...] = ()
    env_families: tuple[str, ...] = ()
    action_spaces: tuple[str, ...] = ()
    observation_spaces: tuple[str, ...] = ()
    max_agents: int = 1
    supports_self_play: bool = False
    supports_population: bool = False
    supports_checkpointing: bool = False
    supports_pause_resume: bool = False
    requires_gpu: bool = False
    gpu_memory_mb: Optional[int] = None
    cpu_cores: int = 1
    estimated_memory_mb: Optional[int] = None

    def supports_paradigm(self, paradigm: str) -> bool:
        return paradigm in self.supported_paradigms

    def supports_env_family(self, family: str) -> bool:
        return family in self.env_families

    def is_multi_agent(self) -> bool:
        return self.max_agents > 1


@runtime_checkable
class WorkerConfig(Protocol):
    """A worker's configuration. Workers check theirs with `isinstance`."""

    run_id: str
    seed: Optional[int]

    def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WorkerConfig: ...


@runtime_checkable
class WorkerRuntime(Protocol):
    """The interface of a worker's runtime."""

    def run(self) -> dict[str, Any]: ...
