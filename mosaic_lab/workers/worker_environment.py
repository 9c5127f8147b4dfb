"""A worker environment on disk: an interpreter, the worker in it, and its installation request. Its record,
``environment.json``, is replaced atomically and contains no credentials."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.home import worker_folder
from mosaic_lab.workers.shims import Shim, bundled_shims, read_platform_worker, read_shim

BUNDLED = "bundled"
THIRD_PARTY = "third party"
KERNEL = "kernel environment"

RECORD = "environment.json"
FREEZE = "freeze.txt"


@dataclass(frozen=True)
class InstallRequest:
    """The user's request to install a worker: the source, the torch build and the Python (None: the shim's
    default), requirements in addition to the shim's, and whether it is a MOSAIC platform worker."""

    source: str | None = None
    torch: str = "auto"
    python: str | None = None
    also: tuple[str, ...] = ()
    platform: bool = False


@dataclass(frozen=True)
class WorkerEnvironment:
    """A worker that can be started: ``command()`` with ``--config FILE`` trains.

    ``program`` is the module that starts it, and ``root`` the environment's folder (its ``sys.prefix``).
    ``source`` is upstream's source ("git", "registry", a checkout's path; None if the shim offers no choice),
    with the reason in ``source_reason``. ``size_bytes`` is the apparent size on disk. ``origin`` is
    "bundled", "third party" or "kernel environment".
    """

    name: str
    program: str
    python: Path
    root: Path
    origin: str
    metadata: WorkerMetadata
    capabilities: WorkerCapabilities
    python_version: str = ""
    source: str | None = None
    source_reason: str = ""
    upstream: str | None = None
    torch: str | None = None
    size_bytes: int = 0
    created: float = 0.0
    freeze_path: Path | None = None
    shim_folder: Path | None = None
    shim_fingerprint: str | None = None
    pins: list[str] = field(default_factory=list)
    request: InstallRequest = InstallRequest()
    refreshing: bool = False

    def command(self) -> list[str]:
        """Return the command that starts the worker: the interpreter and ``-m <program>``."""
        return [str(self.python), "-m", self.program]

    @property
    def fallback(self) -> str:
        """A sentence on why upstream does not come from the shim's first source. Empty if it does, or if the
        user chose another source."""
        shim = self.shim()
        if self.request.source or shim is None or not shim.sources or self.source == shim.sources[0].name:
            return ""
        return f"worker '{self.name}': {self.source_reason}"

    def algorithm(self, spelling: str | None) -> str | None:
        """Return the worker's own name of an algorithm given in another spelling ("RecurrentPPO")."""
        names = {letters(name): name for name in self.capabilities.algorithms}
        return names.get(letters(spelling), spelling) if isinstance(spelling, str) else spelling

    @property
    def valid(self) -> bool:
        """Whether the interpreter still exists."""
        return self.python.is_file() and os.access(self.python, os.X_OK)

    @property
    def replaces_ours(self) -> bool:
        """Whether this is a third-party worker that replaces a bundled one."""
        return self.origin == THIRD_PARTY and self.name in bundled_shims()

    @property
    def outdated(self) -> bool:
        """Whether the shim has changed since the build; ``ensure`` updates it."""
        return self.staleness is not None

    @property
    def staleness(self) -> str | None:
        """The kind of change since the build: "code" (quick refresh), "pins" (rebuild), or None."""
        shim = self.shim()
        if shim is None:
            return None
        if pins_of(shim, self.source) != self.pins:
            return "pins"
        return "code" if self.refreshing or shim.fingerprint != self.shim_fingerprint else None

    @property
    def freeze(self) -> list[str]:
        """The exact versions of all packages, as ``name==version`` (or ``name @ url``)."""
        if self.freeze_path is None:
            return sorted({f"{item.name}=={item.version}" for item in distributions()}, key=str.lower)
        return self.freeze_path.read_text(encoding="utf-8").splitlines() if self.freeze_path.is_file() else []

    def recorded(self) -> dict[str, Any]:
        """Return a description for a run's provenance."""
        return {
            "worker": self.name,
            "worker_version": self.metadata.version,
            "python": self.python_version,
            "python_executable": str(self.python),
            "origin": self.origin,
            "source": self.source,
            "source_reason": self.source_reason,
            "fallback": self.fallback,
            "upstream": self.upstream,
            "freeze": self.freeze,
        }

    def shim(self) -> Shim | None:
        """Return the current state of the shim that it was built from, or None if it was built elsewhere or
        the shim no longer exists."""
        if self.shim_fingerprint is None:
            return None
        if self.origin == BUNDLED:
            return bundled_shims().get(self.name)
        try:
            read = read_platform_worker if self.request.platform else read_shim
            return read(self.shim_folder) if self.shim_folder else None
        except WorkerEnvironmentError:
            return None


def letters(name: str) -> str:
    """Return the letters and digits of a name in lower case, for comparing spellings."""
    return re.sub(r"[\W_]", "", name).casefold()


def pins_of(shim: Shim, source: str | None) -> list[str]:
    """Return the requirements that determine an environment's contents, besides the shim's code; empty for a
    ``source`` that the shim no longer has."""
    python = [f"python {shim.python}"] if shim.python else []
    if source is None:
        return [] if shim.sources else [*shim.pins(None), *python]
    for listed in shim.sources:
        if listed.name == source:
            return [*shim.pins(listed.extra), listed.upstream or "", *python]
    return [*shim.pins(shim.path_source.extra), source, *python] if shim.path_source else []


def read_environment(name: str) -> WorkerEnvironment | None:
    """Return the recorded environment of worker ``name``, valid or not; None without a readable record."""
    try:
        record = json.loads((worker_folder(name) / RECORD).read_text(encoding="utf-8"))
        return _from_record(record)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_environment(worker_environment: WorkerEnvironment) -> None:
    """Make ``worker_environment`` the current one, atomically."""
    folder = worker_folder(worker_environment.name)
    record = {
        **asdict(worker_environment),
        "metadata": worker_environment.metadata.to_dict(),
        "capabilities": worker_environment.capabilities.to_dict(),
    }
    with tempfile.NamedTemporaryFile(
        "w", dir=folder, prefix=f".{RECORD}-", delete=False, encoding="utf-8"
    ) as file:
        json.dump(record, file, indent=2, default=str)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(folder / RECORD)


def _from_record(record: Mapping[str, Any]) -> WorkerEnvironment:
    names = {item.name for item in fields(WorkerEnvironment)}
    values = {key: value for key, value in record.items() if key in names}
    if "program" not in values:  # a record of an earlier version
        values["program"] = f"{record['module']}.cli"
    for key in ("python", "root", "freeze_path", "shim_folder"):
        values[key] = Path(values[key]) if values[key] is not None else None
    values["metadata"] = WorkerMetadata.from_dict(values["metadata"])
    values["capabilities"] = WorkerCapabilities.from_dict(values["capabilities"])
    request = values["request"]
    values["request"] = InstallRequest(**{**request, "also": tuple(request.get("also", ()))})
    return WorkerEnvironment(**values)
