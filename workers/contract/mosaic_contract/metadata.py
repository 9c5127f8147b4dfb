"""A worker's metadata and capabilities, which its `get_worker_metadata()` returns. Plain data both ways."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from typing import Any, Mapping, TypeVar

T = TypeVar("T", bound="_Document")

PARADIGMS = ["single_agent", "parallel", "aec"]
"""One agent, agents that all act at once, agents that take turns."""

ACTION_SPACES = ["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"]
"""Gymnasium's kinds of spaces."""


@dataclass(frozen=True)
class _Document:
    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls: type[T], document: Mapping[str, Any]) -> T:
        """Read the fields that are known. Raises `ValueError` where one without a default is missing."""
        try:
            return cls(**{f.name: document[f.name] for f in fields(cls) if f.name in document})
        except TypeError as error:
            raise ValueError(f"{cls.__name__}: {error}") from None


@dataclass(frozen=True)
class WorkerMetadata(_Document):
    """A worker's name and version, and the library that it wraps."""

    name: str
    version: str
    description: str = ""
    author: str = ""
    homepage: str = ""
    upstream_library: str = ""
    upstream_version: str = ""
    license: str = ""

    @property
    def upstream(self) -> str:
        """The libraries that it wraps, each with its version: "openai 3.52.0, anthropic 2.11.0"."""
        library, version = self.upstream_library or "", self.upstream_version or ""
        libraries, versions = library.split(", "), version.split(", ")
        if len(libraries) != len(versions):  # some are not installed
            return f"{library} {version}".strip()
        return ", ".join(" ".join(pair).strip() for pair in zip(libraries, versions))


@dataclass(frozen=True)
class WorkerCapabilities(_Document):
    """What a worker can do. `algorithms` are the names that a configuration may give.

    `algorithm_facts` describes each algorithm, by the columns of a listing:
    `{"ppo": {"actions": "discrete or continuous", "agents": "one", "learning": "on-policy"}}`.

    `resume_bound` has the algorithms whose trainings end at `checkpoint.stop_at` and resume from there:
    `{"ppo": {"num_envs": "it says what a step is"}}`, with the reason for each hyperparameter that a resumed
    training cannot change, or for all of them under the name "*". All others it trains on with.

    `resume_elsewhere` has those of them whose trainings resume in another environment of the same spaces,
    too. A dry run of theirs describes the spaces (`EnvironmentSpec.describe_spaces`).
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
    resume_bound: dict[str, dict[str, str]] = field(default_factory=dict)
    resume_elsewhere: list[str] = field(default_factory=list)


def describe_worker(
    name: str, version: str, description: str, **details: Any
) -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return what `get_worker_metadata()` has to return.

    `details` are further fields of `WorkerMetadata` and of `WorkerCapabilities`. By default `worker_type` is
    the worker's name, and `upstream_version` is read from the installed packages that `upstream_library`
    names ("openai, anthropic"); nothing of them is imported. Raises `TypeError` for an unknown field.
    """
    about = {f.name: details.pop(f.name) for f in fields(WorkerMetadata) if f.name in details}
    about.setdefault("upstream_version", _installed_versions(about.get("upstream_library", "")))
    details.setdefault("worker_type", name)
    return WorkerMetadata(name, version, description, **about), WorkerCapabilities(**details)


def _installed_versions(libraries: str) -> str:
    """Return the versions of packages whose names are joined by ", ", without those that are missing."""
    versions = []
    for library in filter(None, libraries.split(", ")):
        try:
            versions.append(metadata.version(library))
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(versions)
