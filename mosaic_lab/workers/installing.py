"""Install, update and remove workers."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers import build as building
from mosaic_lab.workers.catalog import find, not_installed, replacement, unknown_worker, worker_name
from mosaic_lab.workers.discovery import Interpreter, inspect_interpreter, kernel_workers
from mosaic_lab.workers.home import ProgressCallback, home, installer_lock, worker_folder
from mosaic_lab.workers.shims import Shim, bundled_shims, read_platform_worker, read_shim
from mosaic_lab.workers.sources import torch_backend
from mosaic_lab.workers.uv import Uv
from mosaic_lab.workers.worker_environment import (
    RECORD,
    THIRD_PARTY,
    InstallRequest,
    WorkerEnvironment,
    read_environment,
)

INSTALL_SECONDS = 1800.0


def install(
    name_or_path: str | Path,
    *,
    source: str | None = None,
    torch: str = "auto",
    python: str | Path | None = None,
    replace: bool = False,
    also: Sequence[str] = (),
    platform: bool = False,
    progress: ProgressCallback = print,
    timeout: float = INSTALL_SECONDS,
) -> WorkerEnvironment:
    """Install a worker and return its environment.

    ``name_or_path``: a worker's name, or the folder of a third-party shim (``./folder``). ``source``: one of
    the shim's sources, or the path of an upstream checkout; default: the first reachable source. ``torch``:
    "auto", "cpu" or a CUDA version ("cu128"). ``python``: a version for uv, or an interpreter; if its
    environment already has the worker, it is registered unchanged, and its metadata are read again. Without
    any of these, the previous request applies. An installation that satisfies the request is kept.
    ``replace``: whether another worker may replace a bundled one of the same name. ``also``: requirements in
    addition to the shim's. ``platform``: ``name_or_path`` is the folder of a worker written for the MOSAIC
    platform, named "mosaic-<name>" here. ``timeout``, in seconds, covers waiting for another installer and
    building. Raises WorkerEnvironmentError, without leaving a partial installation.
    """
    torch_backend(torch)
    shim, name = _shim_and_name(Path(name_or_path) if platform else name_or_path, platform)
    if shim is not None and shim.in_kernel and (here := kernel_workers(name).get(name)):
        progress(
            f"worker '{name}' runs in the environment of mosaic-lab itself, {here.root}: nothing is installed"
        )
        return here
    platform = shim is not None and shim.adapter is not None  # also if an installed one is given by name
    request = InstallRequest(
        _absolute_source(shim, source), torch, _absolute_python(python), tuple(also), platform
    )
    recorded = read_environment(name)
    if (
        recorded
        and request == InstallRequest(platform=platform)
        and (shim is None or shim == recorded.shim())
    ):
        request = recorded.request
    # A checkout's contents may have changed since it was installed.
    rebuild = source is not None and shim is not None and source not in {entry.name for entry in shim.sources}
    return _provide(name, shim, request, progress, timeout, rebuild, replace)


def ensure(name: str, progress: ProgressCallback = print) -> WorkerEnvironment:
    """Return the up-to-date environment of worker ``name``.

    If necessary, it is installed, refreshed or rebuilt first, as previously requested; ``progress`` is called
    with the action and its reason. Raises WorkerEnvironmentError.
    """
    name = worker_name(name)
    worker_environment = find(name)
    if worker_environment is not None and not worker_environment.outdated:
        return worker_environment
    shim, _ = _shim_and_name(name)
    recorded = read_environment(name)
    if recorded and recorded.valid:
        progress(f"worker '{name}' has changed since it was installed: bringing it up to date")
    elif recorded:
        progress(f"worker '{name}': its Python, {recorded.python}, is gone: building its environment again")
    elif shim:
        progress(f"worker '{name}' is not installed: building its environment in {worker_folder(name)}, once")
    request = recorded.request if recorded else InstallRequest()
    return _provide(name, shim, request, progress, INSTALL_SECONDS, rebuild=False, replace=False)


def remove(name: str, progress: ProgressCallback = print) -> None:
    """Remove worker ``name``'s environment; a registered environment is only unregistered.

    Runs that use it are not stopped, as ``progress`` reports; they continue as far as the operating system
    allows. Raises WorkerEnvironmentError if the worker has no installed or registered environment.
    """
    name = worker_name(name)
    with installer_lock(name, progress, INSTALL_SECONDS):
        recorded = read_environment(name)
        if recorded is None and not worker_folder(name).is_dir():
            raise _not_removable(name)
        users = building.processes_in(worker_folder(name))
        (worker_folder(name) / RECORD).unlink(missing_ok=True)  # first, because the rest may be interrupted
        shutil.rmtree(worker_folder(name), ignore_errors=True)
    if users:
        progress(
            f"{len(users)} process(es) still run from it (pid {', '.join(map(str, users))}): they continue, "
            "but fail when they next need a file of it. `mosaic-lab runs` lists and stops runs."
        )
    if recorded and recorded.shim_fingerprint is None:
        progress(
            f"forgot worker '{name}'; its environment {recorded.root} is not managed by MOSAIC Lab and stays"
        )
    else:
        progress(f"removed the environment of worker '{name}'")


def _provide(
    name: str,
    shim: Shim | None,
    request: InstallRequest,
    progress: ProgressCallback,
    timeout: float,
    rebuild: bool,
    replace: bool,
) -> WorkerEnvironment:
    """Keep, refresh, register or build an environment to satisfy ``request``, under the worker's lock."""
    deadline = time.monotonic() + timeout
    requested_at = time.time()
    if shim is None and request.python is None and read_environment(name) is None:
        raise unknown_worker(name)
    foreign = _foreign_interpreter(name, request.python)
    with installer_lock(name, progress, timeout) as lock:
        uv = Uv(home(), progress, deadline, lock)
        present = read_environment(name)
        folder = foreign.prefix if foreign else shim.folder if shim else None
        if not replace:
            _refuse_our_name(name, folder, present)
        reuse = foreign is None and (not rebuild or (present is not None and present.created >= requested_at))
        if present and reuse and _satisfies(present, shim, request):
            return _up_to_date(present, uv)
        if present and present.origin == THIRD_PARTY and not _is_from(present, folder):
            uv.say(f"worker '{name}' was the one in {present.shim_folder or present.root}: it is replaced")
        building.remove_leftovers(name)
        if foreign is not None:
            worker_environment = building.register_environment(name, foreign, request, uv)
        elif shim is not None:
            worker_environment = building.build(shim, request, uv)
        else:
            raise WorkerEnvironmentError(
                f"There is no shim to build worker '{name}' from"
                + (f", and the environment of {request.python} does not have it" if request.python else "")
                + f". Register one that has: mosaic-lab workers install {name} --python PATH"
            )
        _report(worker_environment, building.remove_leftovers(name), uv)
        if worker_environment.replaces_ours:
            uv.say(replacement(worker_environment))
        return worker_environment


def _refuse_our_name(name: str, folder: Path | None, present: WorkerEnvironment | None) -> None:
    """Raise WorkerEnvironmentError if the worker in ``folder`` is not bundled, has a bundled worker's name
    and has not replaced it already.
    """
    bundled = bundled_shims().get(name)
    if bundled is None or folder in (None, bundled.folder):
        return
    if present is not None and present.origin == THIRD_PARTY and _is_from(present, folder):
        return
    raise WorkerEnvironmentError(
        f"The worker in {folder} is called '{name}', like one that comes with MOSAIC Lab, and would take its "
        "place everywhere. Give it another name (the entry point in its pyproject.toml), or add --replace if "
        "that is what you want."
    )


def _shim_and_name(name_or_path: str | Path, platform: bool = False) -> tuple[Shim | None, str]:
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or os.sep in text or text.startswith((".", "~")):
        shim = read_platform_worker(Path(text)) if platform else read_shim(Path(text))
        return shim, shim.name
    name = worker_name(text)
    recorded = read_environment(name)
    if recorded is not None and recorded.origin == THIRD_PARTY:
        return recorded.shim() or bundled_shims().get(name), name
    return bundled_shims().get(name), name


def _is_from(worker_environment: WorkerEnvironment, folder: Path | None) -> bool:
    """Return whether the environment is at ``folder`` or was built from the shim there."""
    return folder in (worker_environment.root, worker_environment.shim_folder)


def _foreign_interpreter(name: str, python: str | None) -> Interpreter | None:
    """Return the interpreter at ``python`` if its environment already has worker ``name``."""
    if python is None or os.sep not in python:
        return None
    if not Path(python).is_file():
        raise WorkerEnvironmentError(
            f"--python {python}: there is no such file. Give an interpreter, such as "
            "/path/to/venv/bin/python, or a version, such as 3.11."
        )
    interpreter = inspect_interpreter(Path(python))
    return interpreter if name in interpreter.workers else None


def _absolute_python(python: str | Path | None) -> str | None:
    if python is None or os.sep not in str(python):
        return None if python is None else str(python)
    return str(Path(python).expanduser().absolute())  # not resolved: a virtual environment's python is a link


def _absolute_source(shim: Shim | None, source: str | None) -> str | None:
    if source is None or shim is None or source in {entry.name for entry in shim.sources}:
        return source
    return str(Path(source).expanduser().resolve())


def _satisfies(present: WorkerEnvironment, shim: Shim | None, request: InstallRequest) -> bool:
    """Return whether the present environment satisfies the request, in which defaults match any value."""
    built_from = present.shim()
    return (
        present.valid
        and (shim is None or built_from is None or built_from.folder == shim.folder)
        and present.staleness != "pins"
        and request.source in (None, present.source)
        and request.torch in ("auto", present.request.torch)
        and request.python in (None, present.request.python)
        and request.also in ((), present.request.also)
    )


def _up_to_date(present: WorkerEnvironment, uv: Uv) -> WorkerEnvironment:
    shim = present.shim()
    if shim is None or present.staleness is None:
        uv.progress(f"worker '{present.name}' is installed already, in {present.root}")
        return present
    worker_environment = building.refresh(present, shim, uv)
    uv.say(f"worker '{present.name}' is up to date")
    return worker_environment


def _report(installed: WorkerEnvironment, stayed: list[Path], uv: Uv) -> None:
    metadata = installed.metadata
    upstream = metadata.upstream or f"{metadata.name} {metadata.version}"
    source = f", source {installed.source}" if installed.source else ""
    uv.say(
        f"worker '{installed.name}' is ready: {upstream}{source}, Python {installed.python_version}, "
        f"{installed.size_bytes / 1e6:,.0f} MB in {installed.root}"
    )
    for folder in stayed:
        uv.say(f"runs still use the older environment in {folder}: it is removed at a later install")


def _not_removable(name: str) -> WorkerEnvironmentError:
    if kernel_workers(name):
        return WorkerEnvironmentError(
            f"Worker '{name}' is in the environment that runs mosaic-lab, {sys.prefix}, which MOSAIC Lab "
            "does not manage: uninstall its packages there."
        )
    return not_installed(name)
