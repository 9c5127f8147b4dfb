"""A worker's metadata and capabilities, returned by its `get_worker_metadata()`, with conversion to and from
plain data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from typing import Any, Mapping, Sequence, TypeVar

T = TypeVar("T", bound="_Document")

PARADIGMS = ["single_agent", "parallel", "aec"]
"""One agent; agents that act simultaneously; agents that take turns."""

ACTION_SPACES = ["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"]
"""Gymnasium's kinds of spaces."""


@dataclass(frozen=True)
class _Document:
    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls: type[T], document: Mapping[str, Any]) -> T:
        """Read the known fields. Raises `ValueError` if a field without a default is missing."""
        try:
            return cls(**{f.name: document[f.name] for f in fields(cls) if f.name in document})
        except TypeError as error:
            raise ValueError(f"{cls.__name__}: {error}") from None


@dataclass(frozen=True)
class WorkerMetadata(_Document):
    """A worker's name and version, and the wrapped library."""

    name: str
    version: str
    description: str = ""
    upstream_library: str = ""
    upstream_version: str = ""

    @property
    def upstream(self) -> str:
        """The wrapped libraries with their versions, such as "openai 3.52.0, anthropic 2.11.0"."""
        library, version = self.upstream_library or "", self.upstream_version or ""
        libraries, versions = library.split(", "), version.split(", ")
        if len(libraries) != len(versions):  # some are not installed
            return f"{library} {version}".strip()
        return ", ".join(" ".join(pair).strip() for pair in zip(libraries, versions))


@dataclass(frozen=True)
class WorkerCapabilities(_Document):
    """A worker's capabilities. `algorithms` are the names that a configuration may use.

    `algorithm_facts` describes each algorithm, by the columns of a listing: `{"ppo": {"actions": "discrete or
    continuous", "agents": "one", "learning": "on-policy"}}`.

    `resume_bound` has the algorithms with trainings that end at `checkpoint.stop_at` and resume from there:
    `{"ppo": {"num_envs": "it defines a step"}}`, with the reason for each hyperparameter that a resumed
    training cannot change, or for all of them under the name "*". All others may change.

    `resume_elsewhere` has the resumable algorithms with trainings that can also resume in another environment
    with the same spaces. Their dry runs describe the spaces (`EnvironmentSpec.describe_spaces`).

    `uses_environment_servers`: its trainings accept environments of its `supported_paradigms` that other
    workers serve (`environment_server`). `steps_together`: it begins the steps of all served environments
    before it ends the first, so that several processes of a server act at the same time. `acts_in_batches`:
    one process of its operators acts in several episodes at once (`select_actions`). Its agents share no
    mutable state. `ignores_observations`: its operators act without observations, so arenas send None.
    `records_observations`: its trainings make their environments by `checked_environment.checked`, in their
    own process, where observations can be recorded.
    """

    supported_paradigms: list[str] = field(default_factory=lambda: ["single_agent"])
    env_families: list[str] = field(default_factory=list)
    action_spaces: list[str] = field(default_factory=list)
    observation_spaces: list[str] = field(default_factory=list)
    algorithms: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: ["train"])
    algorithm_facts: dict[str, dict[str, str]] = field(default_factory=dict)
    resume_bound: dict[str, dict[str, str]] = field(default_factory=dict)
    resume_elsewhere: list[str] = field(default_factory=list)
    uses_environment_servers: bool = False
    steps_together: bool = False
    acts_in_batches: bool = False
    ignores_observations: bool = False
    records_observations: bool = False


class Algorithm:
    """An algorithm of a library, for listings, sweeps and curricula. Shims derive their own class, with the
    information needed to make it.

    `actions` are the supported kinds of actions; `agents` and `learning` describe in words which agents it
    trains and from which data it learns.
    """

    name: str
    actions: Sequence[str]
    on_policy: bool
    agents: str = "one"

    @property
    def learning(self) -> str:
        return "on-policy" if self.on_policy else "off-policy"

    @property
    def bound(self) -> Mapping[str, str]:
        """The hyperparameters that cannot change in a resumed training, each with the reason."""
        raise NotImplementedError

    @property
    def resumes(self) -> bool:
        """Whether its trainings can end at `checkpoint.stop_at` and resume from there."""
        return True

    @property
    def resumes_elsewhere(self) -> bool:
        """Whether its trainings can also resume in another environment with the same spaces."""
        return self.resumes


def describe_algorithms(algorithms: Mapping[str, Algorithm]) -> dict[str, Any]:
    """Return the fields of `WorkerCapabilities` about a worker's algorithms."""
    listed = algorithms.values()
    return {
        "algorithms": list(algorithms),
        "algorithm_facts": {
            algorithm.name: {
                "actions": " or ".join(algorithm.actions),
                "agents": algorithm.agents,
                "learning": algorithm.learning,
            }
            for algorithm in listed
        },
        "resume_bound": {algorithm.name: dict(algorithm.bound) for algorithm in listed if algorithm.resumes},
        "resume_elsewhere": [algorithm.name for algorithm in listed if algorithm.resumes_elsewhere],
    }


def describe_worker(name: str, package: str, **details: Any) -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the metadata and capabilities of a worker, for `get_worker_metadata()`.

    `package` is the worker's own distribution; its `pyproject.toml` has the version and description.
    `details` are further fields of `WorkerMetadata` and `WorkerCapabilities`. By default `upstream_version`
    is read from the installed packages named in `upstream_library` ("openai, anthropic"), without importing
    them. Raises `TypeError` for an unknown field.
    """
    values = {**_installed(package), "upstream_version": _versions(details.get("upstream_library", ""))}
    values.update({f.name: details.pop(f.name) for f in fields(WorkerMetadata) if f.name in details})
    return WorkerMetadata(name, **values), WorkerCapabilities(**details)


def _installed(package: str) -> dict[str, str]:
    """Return the version and description of a worker's package; if it is not installed separately, the
    version of MOSAIC Lab, which contains it."""
    with suppress(metadata.PackageNotFoundError):
        fields = metadata.metadata(package)
        return {"version": fields["Version"], "description": fields["Summary"] or ""}
    return {"version": _versions("mosaic-lab")}


def _versions(libraries: str) -> str:
    """Return the versions of packages with names joined by ", ", without missing ones."""
    versions = []
    for library in filter(None, libraries.split(", ")):
        with suppress(metadata.PackageNotFoundError):
            versions.append(metadata.version(library))
    return ", ".join(versions)
