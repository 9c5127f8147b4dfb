"""Build, refresh, register and clean up worker environments. The caller holds the worker's installer lock.
Failures raise WorkerEnvironmentError and leave no files behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
from mosaic_contract import warm

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.discovery import Interpreter, environment_of, inspect_interpreter
from mosaic_lab.workers.home import worker_folder
from mosaic_lab.workers.pip_settings import without_credentials
from mosaic_lab.workers.shims import ADAPTER, Shim, bundled_folder, contract_folder, copied, copied_adapter
from mosaic_lab.workers.sources import ChosenSource, choose_source, torch_arguments
from mosaic_lab.workers.uv import Uv
from mosaic_lab.workers.worker_environment import (
    BUNDLED,
    FREEZE,
    RECORD,
    THIRD_PARTY,
    InstallRequest,
    WorkerEnvironment,
    pins_of,
    read_environment,
    write_environment,
)

_CONTRACT = "mosaic-contract"
_COPY, _ADAPTER_COPY = "shim", "adapter"  # copies of the sources, next to the virtual environment


def build(shim: Shim, request: InstallRequest, uv: Uv) -> WorkerEnvironment:
    """Build a new environment next to any older one, check that its worker responds, then make it current."""
    choice = choose_source(shim, request.source)
    uv.say(f"worker '{shim.name}' from {choice.source or 'its own pins'}: {choice.reason}")
    with new_folder(shim.name) as folder:
        python = _make_venv(shim, request, folder / "venv", uv)
        torch = _install_packages(_packages(shim, folder, choice.extra), choice, shim, request, python, uv)
        origin = BUNDLED if shim.folder.parent == bundled_folder() else THIRD_PARTY
        worker_environment = replace(
            _worker_in(inspect_interpreter(python), shim.name, origin, shim.folder),
            source=choice.source,
            source_reason=choice.reason,
            upstream=without_credentials(choice.upstream) if choice.upstream else None,
            torch=torch,
            shim_folder=shim.folder,
            shim_fingerprint=shim.fingerprint,
            pins=pins_of(shim, choice.source),
            request=request,
        )
        return record(worker_environment, folder, uv)


def refresh(worker_environment: WorkerEnvironment, shim: Shim, uv: Uv) -> WorkerEnvironment:
    """Install the current code of the shim and the contract into an environment with unchanged pins."""
    uv.say(f"worker '{shim.name}': its shim has changed, installing the new one")
    # A killed refresh must not look complete, even if the sources change back.
    write_environment(replace(worker_environment, refreshing=True))
    assert worker_environment.freeze_path is not None
    packages = _packages(shim, worker_environment.freeze_path.parent, None)
    install = ["pip", "install", "--python", str(worker_environment.python), "--no-deps"]
    uv.do("installing the shim", *install, *_fresh(shim), *packages)
    interpreter = inspect_interpreter(worker_environment.python)
    worker = _worker_in(interpreter, shim.name, worker_environment.origin, shim.folder)
    changed = replace(
        worker_environment,
        program=worker.program,
        metadata=worker.metadata,
        capabilities=worker.capabilities,
        shim_fingerprint=shim.fingerprint,
        refreshing=False,
    )
    return record(changed, worker_environment.freeze_path.parent, uv)


def register_environment(
    name: str, interpreter: Interpreter, request: InstallRequest, uv: Uv
) -> WorkerEnvironment:
    """Record an environment that was created elsewhere, without changing it."""
    uv.say(f"worker '{name}' is in {interpreter.prefix} already: registering it as it is")
    with new_folder(name) as folder:
        worker = _worker_in(interpreter, name, THIRD_PARTY, interpreter.prefix)
        return record(replace(worker, request=request), folder, uv)


def record(worker_environment: WorkerEnvironment, folder: Path, uv: Uv) -> WorkerEnvironment:
    """Write the freeze file and size, then ``environment.json``, which makes the environment visible."""
    freeze = uv.probe("pip", "freeze", "--python", str(worker_environment.python))
    if freeze.returncode != 0:
        raise WorkerEnvironmentError(
            f"uv could not list the packages of {worker_environment.root}:\n{freeze.text}"
        )
    pinned = [line for line in freeze.lines if "==" in line or " @ " in line]
    (folder / FREEZE).write_text("\n".join(pinned) + "\n", encoding="utf-8")
    done = replace(
        worker_environment,
        freeze_path=folder / FREEZE,
        size_bytes=folder_size(worker_environment.root),
        created=time.time(),
    )
    write_environment(done)
    return done


@contextlib.contextmanager
def new_folder(name: str) -> Iterator[Path]:
    """Create a uniquely named folder for worker ``name``; remove it if the block fails."""
    folder = worker_folder(name) / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def remove_leftovers(name: str) -> list[Path]:
    """Remove folders that the record does not refer to: leftovers of killed installers, and older
    environments. Return the folders that are kept because processes still run from them."""
    current = read_environment(name)
    keep = current.freeze_path.parent if current and current.freeze_path else None
    stayed: list[Path] = []
    for entry in worker_folder(name).iterdir() if worker_folder(name).is_dir() else ():
        if entry == keep or entry.name == RECORD:
            continue
        if entry.is_file():
            entry.unlink(missing_ok=True)
        elif processes_in(entry):
            stayed.append(entry)
        else:
            shutil.rmtree(entry, ignore_errors=True)
    return stayed


def processes_in(folder: Path) -> list[int]:
    """Return the ids of processes whose interpreter was started from inside ``folder``, except warm workers,
    which end by themselves when it changes."""
    prefix = f"{folder}{os.sep}"
    ids: list[int] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            started = any(part.startswith(prefix) for part in process.cmdline()[:1])
            if started and process.name() != warm.NAME:
                ids.append(process.pid)
    return ids


def folder_size(folder: Path) -> int:
    """Return the apparent size in bytes of the files below ``folder``, without following links."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 (tens of thousands of files)
    return total


def _make_venv(shim: Shim, request: InstallRequest, venv: Path, uv: Uv) -> Path:
    version = request.python or shim.python
    own_version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # uv may not find the interpreter of this process by itself.
    python = sys.executable if version in (None, own_version) else version
    uv.do("making the virtual environment", "venv", "--no-project", "--python", str(python), str(venv))
    return venv / "bin" / "python"


def _packages(shim: Shim, folder: Path, extra: str | None) -> list[str]:
    """Return the requirements for the contract and for copies, in ``folder``, of the shim and its adapter."""
    contract, copy = str(contract_folder()), copied(shim, folder / _COPY)
    if not shim.adapter:
        return [contract, copy.requirement(extra)]
    # As on the MOSAIC platform, some of whose workers do not declare all packages.
    return [contract, "--editable", str(copy.folder), copied_adapter(shim, folder / _ADAPTER_COPY)]


def _install_packages(
    shim_packages: list[str], choice: ChosenSource, shim: Shim, request: InstallRequest, python: Path, uv: Uv
) -> str | None:
    """Install the shim with its pins, then upstream without its dependencies.

    Return uv's torch arguments, or None if there are none.
    """
    install = ["pip", "install", "--python", str(python)]
    packages = [*shim_packages, *request.also]
    pins = [*shim.pins(choice.extra), *request.also]
    torch = torch_arguments(uv, python, pins, packages, request.torch)
    uv.do("installing the worker's packages", *install, *_fresh(shim), *torch, *packages)
    if choice.upstream:
        # A checkout may have changed without a new version, so uv's cache must not be used.
        refresh = ["--refresh"] if choice.source == choice.upstream else []
        uv.do("installing upstream", *install, "--no-deps", *refresh, choice.upstream)
    return " ".join(torch) or None


def _fresh(shim: Shim) -> list[str]:
    """Return options that reinstall our packages: uv reuses a build until its pyproject.toml changes."""
    packages = [shim.distribution, _CONTRACT, *([ADAPTER] if shim.adapter else [])]
    return [word for name in packages for word in ("--reinstall-package", name)]


def _worker_in(interpreter: Interpreter, name: str, origin: str, folder: Path) -> WorkerEnvironment:
    """Return the worker ``name`` of an environment. Raises WorkerEnvironmentError if it is missing or does
    not load; the message names ``folder`` as the folder to repair."""
    worker = interpreter.workers.get(name)
    if worker is None:
        raise WorkerEnvironmentError(
            f"{folder} declares no worker '{name}' (the environment has: "
            f"{', '.join(interpreter.workers) or 'none'}). Its shim needs the entry point that "
            "workers/README.md shows."
        )
    return environment_of(worker, interpreter, origin, folder)
