"""The description of a run that a node receives, and the input files that are sent with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError

INPUTS = "inputs"
"""The folder in a node's run folder for input files: checkpoints, a program."""

SERVER = "environment_server"
"""The field of a training's configuration with the worker that serves its environment, and its command."""
MAX_BYTES = 256 << 20
_LEFT_OUT = {"__pycache__", "node_modules", "mosaic_runs", "venv"}


@dataclass(frozen=True)
class Job:
    """Everything a node needs to start a run's keeper, except the values of variables.

    ``config`` is the worker's configuration; its file names refer to ``inputs`` ({path in the run folder:
    local path}). ``cpus`` and ``gpus`` are reserved on a node with all ``labels``. ``folder`` is our folder
    on the node and ``wheels`` a folder of wheels there, None to use a package index. ``tools`` are the
    requirements of the installer of worker environments. The job is restarted at most ``restarts`` times
    after the loss of a node; ``attempt`` counts from 1.
    """

    run_id: str
    worker: str
    config: Mapping[str, Any]
    folder: str
    grace_seconds: float
    threads: int = 1
    cpus: float = 1
    gpus: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    wheels: str | None = None
    tools: Sequence[str] = ()
    restarts: int = 0
    attempt: int = 1

    @property
    def name(self) -> str:
        """The name of this attempt on the cluster."""
        return f"{self.run_id}.{self.attempt}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Job:
        return cls(**content)


def amounts(cpus: float, gpus: float) -> str:
    """Return amounts in words, such as ``2 CPUs and 1 GPU``, without zeros."""
    parts = ((cpus, "CPU"), (gpus, "GPU"))
    return " and ".join(f"{n:g} {unit}{'' if n == 1 else 's'}" for n, unit in parts if n) or "no CPU"


def with_inputs(worker: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a worker's configuration for a node, and the files to send as {path in the node's run folder:
    local path}.

    The files are the checkpoint to resume from, the working folder of a script, and the checkpoints of an
    evaluation's operators. Raises ConfigurationError if they exceed 256 MiB.
    """
    changed = dict(config)
    files: dict[str, str] = {}
    source = (config.get("checkpoint") or {}).get("resume_from")
    if source is not None:
        changed, files = with_checkpoint(config, Path(source))
    if worker == "evaluation":
        changed, files = _with_policies(config)
    if worker == "script":
        hyperparameters = config.get("hyperparameters") or {}
        folder = Path(config.get("launch_dir") or ".") / str(hyperparameters.get("cwd") or ".")
        changed["hyperparameters"] = {**hyperparameters, "cwd": "."}
        files |= {f"{INPUTS}/{file.relative_to(folder)}": str(file) for file in _program_files(folder)}
    size = sum(Path(file).stat().st_size for file in files.values())
    if size > MAX_BYTES:
        raise ConfigurationError(
            f"the run's files have {size / 1e6:,.0f} MB; at most {MAX_BYTES / 1e6:,.0f} MB are sent to a "
            "cluster: start it from a smaller folder, or have its data on the nodes"
        )
    return changed, files


def with_checkpoint(config: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Like `with_inputs`, for a run that resumes from the checkpoint at ``path``."""
    folder = f"{INPUTS}/checkpoint"
    checkpoint = {**(config.get("checkpoint") or {}), "resume_from": f"{folder}/{path.name}"}
    files = {f"{folder}/{name}": str(file) for name, file in _checkpoint_files(path)}
    return {**config, "checkpoint": checkpoint}, files


def _with_policies(config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Like `with_inputs`, for an evaluation, whose operators may be trained policies."""
    paths: dict[str, str] = {}
    files: dict[str, str] = {}
    for number, source in enumerate(sorted(config["digests"]), 1):
        path, folder = Path(source), f"{INPUTS}/{number}"
        paths[source] = f"{folder}/{path.name}"
        files |= {f"{folder}/{name}": str(file) for name, file in _checkpoint_files(path)}
    operators = {
        key: {**spec, "settings": {name: _on_node(paths, value) for name, value in spec["settings"].items()}}
        for key, spec in config["operators"].items()
    }
    digests = {paths[source]: digest for source, digest in config["digests"].items()}
    return {**config, "operators": operators, "digests": digests}, files


def _on_node(paths: Mapping[str, str], value: Any) -> Any:
    """Return the path of a file on the node if it is sent; any other value unchanged."""
    return paths.get(value, value) if isinstance(value, str) else value


def _checkpoint_files(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a checkpoint, possibly several with the same stem."""
    for part in path.parent.glob(f"{path.stem}.*") if path.is_file() else [path]:
        for file in [part] if part.is_file() else sorted(part.rglob("*")):
            if file.is_file():
                yield str(file.relative_to(path.parent)), file


def _program_files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT_OUT and not name.startswith(".")]
        files = (Path(root, name) for name in names if not name.startswith("."))
        yield from (file for file in files if file.is_file())
