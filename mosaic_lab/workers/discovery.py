"""Discover the workers declared in an interpreter's environment (entry-point group ``mosaic.workers``).
Foreign code runs in a separate process with a deadline, so that it can neither slow nor break the kernel."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import mosaic_contract
from mosaic_contract.codec import write_whole
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata
from packaging.requirements import Requirement

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.keeper.environment_variables import USER_SITE, compose_variables
from mosaic_lab.sanitize import sanitize, sanitize_json
from mosaic_lab.workers.home import worker_folder
from mosaic_lab.workers.pip_settings import without_credentials
from mosaic_lab.workers.shims import ENTRY_POINT_GROUP, Shim, bundled_shims
from mosaic_lab.workers.worker_environment import KERNEL, WorkerEnvironment

DESCRIPTION = "description.json"
DISCOVERY_SECONDS = 60.0
DESCRIBE_SECONDS = 60.0
_DISCOVER = f"""\
import importlib.util as found, runpy, sys
if found.find_spec("mosaic_contract") is None:  # a worker need not have it
    spec = found.spec_from_file_location("mosaic_contract", {mosaic_contract.__file__!r})
    sys.modules["mosaic_contract"] = module = found.module_from_spec(spec)
    spec.loader.exec_module(module)
runpy.run_module("mosaic_contract.discovery", run_name="__main__")"""
_MAX_ERROR_LENGTH = 2000  # characters of an error
_LONGEST_ANSWER = 4 << 20  # bytes
_MAX_OUTPUT = 64 << 20  # bytes
_POLL = 0.05


@dataclass(frozen=True)
class DiscoveredWorker:
    """A declared worker and the module that starts it; ``error`` if it could not be read."""

    name: str
    program: str = ""
    metadata: WorkerMetadata | None = None
    capabilities: WorkerCapabilities | None = None
    error: str | None = None


@dataclass(frozen=True)
class Interpreter:
    """An interpreter's description of itself and of the workers in its environment."""

    python: Path
    prefix: Path
    version: str
    workers: dict[str, DiscoveredWorker]


def inspect_interpreter(python: Path) -> Interpreter:
    """Return the environment and workers of ``python``; no workers if it is too old for any. Raises
    WorkerEnvironmentError if it does not respond."""
    code = (
        "import json, platform, sys\n"
        "print(json.dumps([sys.prefix, platform.python_version(), sys.version_info >= (3, 9)]))"
    )
    answer = _output_of([str(python), "-c", code], DISCOVERY_SECONDS)
    try:
        prefix, version, has_workers = json.loads(answer)
    except ValueError as error:
        raise WorkerEnvironmentError(
            f"{python} is not a Python interpreter: it answered {answer[:200]!r}"
        ) from error
    workers = discover(python) if has_workers else []
    return Interpreter(python, Path(prefix), version, {worker.name: worker for worker in workers})


def discover(python: Path, *, user_site: bool = False) -> list[DiscoveredWorker]:
    """Return the workers in the environment of ``python``; several packages may declare the same name.
    ``user_site`` includes the user's site-packages."""
    environ = USER_SITE if user_site else {}
    answer = _output_of([str(python), "-c", _DISCOVER], DISCOVERY_SECONDS, environ)
    try:
        return [_discovered(item) for item in sanitize_json(json.loads(answer.splitlines()[-1]))]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WorkerEnvironmentError(f"{python} listed its workers as {answer[:200]!r}") from error


def describe(worker_environment: WorkerEnvironment) -> dict[str, Any]:
    """Return a worker's description of itself, from a process started for this purpose: {"metadata",
    "capabilities", "hyperparameters": {algorithm: [...]}, "environments": [ids]}.

    Each hyperparameter is {"name", "type", "default", "help", "choices", "minimum", "maximum",
    "exclusive_minimum"}, without limits if the worker has an older contract. "environments" has the known ids
    of environments that the worker provides. Raises WorkerEnvironmentError if the worker gives no valid
    description within a minute. The description is cached next to environments that were built here.
    """
    file = worker_folder(worker_environment.name) / DESCRIPTION
    key = [worker_environment.created, worker_environment.shim_fingerprint]
    with suppress(OSError, ValueError, KeyError, TypeError):
        cached = json.loads(file.read_text(encoding="utf-8"))
        if cached["of"] == key:
            return dict(cached["description"])
    description = _described(worker_environment)
    if worker_environment.shim_fingerprint is not None:
        with suppress(OSError):
            write_whole(file, json.dumps({"of": key, "description": description}).encode())
    return description


def _described(worker_environment: WorkerEnvironment) -> dict[str, Any]:
    answer = _output_of([*worker_environment.command(), "--describe"], DESCRIBE_SECONDS)
    try:
        description = sanitize_json(json.loads(answer.splitlines()[-1]))
        fields = {key: description[key] for key in ("metadata", "capabilities", "hyperparameters")}
        return {**fields, "environments": [str(env_id) for env_id in description.get("environments", ())]}
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WorkerEnvironmentError(
            f"Worker '{worker_environment.name}' described itself with {answer[:200]!r}"
        ) from error


def declared_names() -> set[str]:
    """Return the names of the workers declared by packages in our own environment."""
    return {entry.name for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def kernel_workers(name: str | None = None) -> dict[str, WorkerEnvironment]:
    """Return the workers in our own environment, or only ``name``, whose upstream library is installed too;
    bundled training workers require their pinned versions. A worker of another package with a bundled
    worker's name is left out, because it would silently replace that worker.
    """
    bundled = bundled_shims()
    trainers = {name: shim for name, shim in bundled.items() if shim.trains}
    declared = {worker for worker in declared_names() if worker not in trainers or _are_met(trainers[worker])}
    if not declared or (name and name not in declared):
        return {}
    # user site-packages included: mosaic-lab itself may be there
    discovered = discover(Path(sys.executable), user_site=True)
    interpreter = Interpreter(Path(sys.executable), Path(sys.prefix), platform.python_version(), {})
    return {
        worker.name: environment_of(worker, interpreter, KERNEL, interpreter.prefix)
        for worker in discovered
        if worker.metadata and worker.name in declared
        if worker.name in trainers or _is_here(worker.metadata.upstream_library)
        # A bundled worker's program is in its shim's package.
        if worker.name not in bundled or worker.program == f"{bundled[worker.name].folder.name}.cli"
    }


def environment_of(
    worker: DiscoveredWorker, interpreter: Interpreter, origin: str, folder: Path
) -> WorkerEnvironment:
    """Return the environment of a discovered worker. Raises WorkerEnvironmentError if its worker cannot be
    read; the message names ``folder`` as the folder to repair."""
    if worker.metadata is None or worker.capabilities is None:
        raise WorkerEnvironmentError(
            f"Worker '{worker.name}' does not load: {worker.error}. Repair it in {folder}, then run the same "
            "command again."
        )
    return WorkerEnvironment(
        name=worker.name,
        program=worker.program,
        python=interpreter.python,
        root=interpreter.prefix,
        origin=origin,
        metadata=worker.metadata,
        capabilities=worker.capabilities,
        python_version=interpreter.version,
        source_reason=f"found in {interpreter.prefix}",
    )


def _are_met(shim: Shim) -> bool:
    """Return whether our own environment satisfies the requirements of a bundled shim."""
    for requirement in map(Requirement, shim.registry_requirements):
        try:
            if not requirement.specifier.contains(importlib.metadata.version(requirement.name), True):
                return False
        except importlib.metadata.PackageNotFoundError:
            return False
    return True


def _is_here(upstream: str | None) -> bool:
    if not upstream:
        return True
    try:
        importlib.metadata.distribution(upstream)
        return True
    except (importlib.metadata.PackageNotFoundError, ValueError):
        module = upstream.lower().replace("-", "_")
        return module.isidentifier() and importlib.util.find_spec(module) is not None


def _discovered(item: dict[str, Any]) -> DiscoveredWorker:
    if "error" in item:
        return DiscoveredWorker(item["name"], error=str(item["error"]))
    # Without declared modes, trying the worker shows what it supports.
    capabilities = {"modes": ["train", "operate"], **item["capabilities"]}
    return DiscoveredWorker(
        item["name"],
        str(item["program"] if "program" in item else f"{item['module']}.cli"),  # for older contracts
        WorkerMetadata.from_dict(item["metadata"]),
        WorkerCapabilities.from_dict(capabilities),
    )


def _output_of(command: list[str], timeout: float, environ: Mapping[str, str] | None = None) -> str:
    """Return the output of a short command, run like a worker without the user's PYTHONPATH and secrets."""
    variables = compose_variables(os.environ, env_vars=environ)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                cwd="/",
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerEnvironmentError(f"{command[0]} cannot be started: {error}") from error
        try:
            _await_end(process, timeout, command, (out, err))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # including its child processes
            process.wait()
        if process.returncode != 0:
            raise WorkerEnvironmentError(
                f"This ended with exit code {process.returncode}: {' '.join(command)}\n"
                + without_credentials(sanitize(_start_of(err)).strip()[-_MAX_ERROR_LENGTH:])
            )
        return _start_of(out).strip()


def _await_end(
    process: subprocess.Popen[bytes], timeout: float, command: list[str], files: Sequence[BinaryIO]
) -> None:
    """Wait for the end of a process. Raises WorkerEnvironmentError if it takes too long or prints too
    much."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            process.wait(_POLL)
            return
        except subprocess.TimeoutExpired:
            size = sum(os.fstat(file.fileno()).st_size for file in files)
        if size > _MAX_OUTPUT:
            raise WorkerEnvironmentError(
                f"This printed {size / 1e6:,.0f} MB and was ended before it filled the disk: "
                + " ".join(command)
            )
        if time.monotonic() > deadline:
            raise WorkerEnvironmentError(f"No answer within {timeout:.0f} s from: {' '.join(command)}")


def _start_of(file: BinaryIO) -> str:
    """Return the output of foreign code, up to a limit."""
    file.seek(0)
    return file.read(_LONGEST_ANSWER).decode("utf-8", "replace")
