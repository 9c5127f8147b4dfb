"""What a worker tells about itself: the two objects that `get_worker_metadata()` returns. Plain data both
ways.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Mapping, TypeVar

T = TypeVar("T", "WorkerMetadata", "WorkerCapabilities")


@dataclass(frozen=True)
class WorkerMetadata:
    """Who the worker is, and which library it wraps."""

    name: str
    version: str
    description: str = ""
    author: str = ""
    homepage: str = ""
    upstream_library: str = ""
    upstream_version: str = ""
    license: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> WorkerMetadata:
        """Unknown fields are ignored. Raises `ValueError` where name or version is missing."""
        return _from_dict(cls, document)


@dataclass(frozen=True)
class WorkerCapabilities:
    """What the worker can do. `algorithms` are the names that a configuration may ask for.

    `algorithm_facts` says in words what there is to know of each, by the columns of a listing:
    `{"ppo": {"actions": "discrete or continuous", "agents": "one", "learning": "on-policy"}}`.
    """

    worker_type: str
    supported_paradigms: list[str] = field(default_factory=lambda: ["single_agent"])
    env_families: list[str] = field(default_factory=list)
    action_spaces: list[str] = field(default_factory=list)
    observation_spaces: list[str] = field(default_factory=list)
    max_agents: int = 1
    supports_self_play: bool = False
    supports_population: bool = False
    supports_checkpointing: bool = False
    supports_pause_resume: bool = False
    requires_gpu: bool = False
    gpu_memory_mb: int | None = None
    cpu_cores: int = 1
    estimated_memory_mb: int | None = None
    algorithms: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: ["train"])
    algorithm_facts: dict[str, dict[str, str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> WorkerCapabilities:
        """Unknown fields are ignored. Raises `ValueError` where worker_type is missing."""
        return _from_dict(cls, document)


def _from_dict(cls: type[T], document: Mapping[str, Any]) -> T:
    known = {f.name: document[f.name] for f in fields(cls) if f.name in document}
    try:
        return cls(**known)
    except TypeError as error:
        raise ValueError(f"{cls.__name__}: {error}") from None
