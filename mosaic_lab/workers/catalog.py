"""The catalog of workers, and the environment that each would use."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from mosaic_contract.metadata import WorkerMetadata

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.discovery import declared_names, kernel_workers
from mosaic_lab.workers.home import workers_home
from mosaic_lab.workers.shims import Shim, bundled_shims, check_name
from mosaic_lab.workers.worker_environment import (
    BUNDLED,
    KERNEL,
    RECORD,
    THIRD_PARTY,
    WorkerEnvironment,
    read_environment,
)

_SHIM = "_worker"  # suffix of shims' folders
_LIBRARIES = {"stable-baselines3": "sb3", "stable_baselines3": "sb3"}  # named differently from their workers
_STALE = {"code": "its shim has changed since", "pins": "its shim's pins have changed since"}


@dataclass(frozen=True)
class WorkerInfo:
    """A row of ``workers list``.

    ``state`` is "installed", "not installed", "outdated" or "broken", and ``detail`` its reason.
    ``worker_environment`` is None without an environment, ``shim`` is None if the worker's sources are not on
    this machine.
    """

    name: str
    state: str
    detail: str
    origin: str
    worker_environment: WorkerEnvironment | None
    shim: Shim | None

    @property
    def metadata(self) -> WorkerMetadata | None:
        """The installed worker's description of itself."""
        return None if self.worker_environment is None else self.worker_environment.metadata

    @property
    def description(self) -> str:
        """The installed worker's description, otherwise its shim's."""
        return (self.metadata and self.metadata.description) or (self.shim and self.shim.description) or ""

    @property
    def algorithms(self) -> list[str]:
        """The installed worker's algorithms; empty before the installation."""
        return [] if self.worker_environment is None else self.worker_environment.capabilities.algorithms

    @property
    def trains(self) -> bool:
        """Whether the worker trains, or would once it is installed."""
        if self.worker_environment is not None:
            return "train" in self.worker_environment.capabilities.modes
        return self.shim is not None and self.shim.trains


def catalog() -> list[WorkerInfo]:
    """Return every known worker: bundled, in the kernel's environment, installed or registered."""
    shims = bundled_shims()
    in_kernel = kernel_workers()
    names = sorted({*shims, *in_kernel, *_recorded_names()})
    return [_info(name, shims.get(name), in_kernel.get(name)) for name in names]


def worker_name(spelling: str) -> str:
    """Return the worker name that a user means: in any case, or given as the shim's folder or the library
    ("ray_worker", "ray", "stable-baselines3").

    Unknown names are returned unchanged. Raises WorkerEnvironmentError for invalid names.
    """
    recorded = _recorded_names()
    if check_name(spelling) in recorded:
        return spelling
    shims = bundled_shims()
    names = {*shims, *recorded, *declared_names()}
    if spelling in names:
        return spelling
    by_alias = {shim.folder.name.removesuffix(_SHIM): shim.name for shim in shims.values()}
    by_alias |= {name.casefold(): name for name in names} | _LIBRARIES
    return by_alias.get(spelling.casefold().removesuffix(_SHIM), spelling)


def info(name: str) -> WorkerInfo:
    """Return the catalog entry of worker ``name``. Raises WorkerEnvironmentError if there is none."""
    name = worker_name(name)
    shim, in_kernel = bundled_shims().get(name), kernel_workers(name).get(name)
    if shim is None and in_kernel is None and read_environment(name) is None:
        raise unknown_worker(name)
    return _info(name, shim, in_kernel)


def find(name: str) -> WorkerEnvironment | None:
    """Return the environment that worker ``name`` would use, or None.

    This is the installed or registered one, else the kernel's own if it has the worker and its upstream
    library. It may be outdated; ``ensure`` updates it.
    """
    name = worker_name(name)
    recorded = read_environment(name)
    if recorded is not None and recorded.valid:
        return recorded
    return kernel_workers(name).get(name)


def unknown_worker(name: str) -> WorkerEnvironmentError:
    """Return the error for an unknown worker name, with the nearest and all other names."""
    names = sorted({*bundled_shims(), *_recorded_names()})
    near = difflib.get_close_matches(name, names, n=1)
    return WorkerEnvironmentError(
        f"There is no worker '{name}'."
        + (f" Did you mean '{near[0]}'?" if near else "")
        + f" Known: {', '.join(names) or 'none'}. Install a third-party worker with "
        f"`mosaic-lab workers install ./folder`, or `mosaic-lab workers install {name} --python PATH` where "
        "PATH's environment has it."
    )


def replacement(worker_environment: WorkerEnvironment) -> str:
    """Return the notice for an environment with `WorkerEnvironment.replaces_ours`."""
    name, location = worker_environment.name, worker_environment.shim_folder or worker_environment.root
    return (
        f"'{name}' is the worker in {location}, in place of the one that comes with MOSAIC Lab; "
        f"mosaic-lab workers remove {name} brings ours back"
    )


def not_installed(name: str) -> WorkerEnvironmentError:
    """Return the error for a worker without an environment."""
    name = worker_name(name)
    if name not in bundled_shims() and read_environment(name) is None:
        return unknown_worker(name)
    return WorkerEnvironmentError(
        f"Worker '{name}' is not installed. Install it: mosaic-lab workers install {name} "
        f'(in Python: mosaic_lab.workers.install("{name}"))'
    )


def _recorded_names() -> set[str]:
    return {entry.parent.name for entry in workers_home().glob(f"*/{RECORD}")}


def _info(name: str, shim: Shim | None, in_kernel: WorkerEnvironment | None) -> WorkerInfo:
    recorded = read_environment(name)
    if recorded is not None and recorded.valid:
        why = _STALE.get(recorded.staleness or "", "")
        state = "outdated" if why else "installed"
        return WorkerInfo(name, state, why, recorded.origin, recorded, recorded.shim())
    if in_kernel is not None:
        return WorkerInfo(name, "installed", "", KERNEL, in_kernel, shim)
    if recorded is not None:
        reason = f"its Python, {recorded.python}, is gone"
        return WorkerInfo(name, "broken", reason, recorded.origin, recorded, recorded.shim())
    return WorkerInfo(name, "not installed", "", BUNDLED if shim else THIRD_PARTY, None, shim)
