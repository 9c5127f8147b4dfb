"""The launch of a keeper whose run is on a cluster."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mosaic_lab.engines.bridge_environment import bridge_code, bridge_command, bridge_python, bridge_variables
from mosaic_lab.engines.clusters import Cluster, find
from mosaic_lab.engines.inputs import with_inputs
from mosaic_lab.engines.job import Job
from mosaic_lab.engines.node_environment import OUR_MODULES
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.workers.home import Progress, home

_TOOLS = ("uv", "packaging", "platformdirs", "psutil")  # what our installer needs on a node
_OF_MODULES = ("numpy", "msgspec", "tsdownsample")  # what `OUR_MODULES` need besides


def bridge_of(
    cluster: Cluster,
    run_id: str,
    launched: Mapping[str, Any],
    config: Mapping[str, Any],
    variables: Mapping[str, str],
    progress: Progress,
) -> dict[str, Any]:
    """Return `Launch.bridge` for a run.

    ``launched`` is what the run's ``launch.json`` has, ``config`` its worker's configuration, ``variables``
    are those that its user gives the worker. ``progress`` is called with lines about a bridge that has to be
    made.
    Raises ConfigurationError and MosaicError (no such token, files that are too large, no bridge).
    """
    threads = launched["threads"]
    changed, inputs = with_inputs(launched["worker"], config)
    job = Job(
        run_id=run_id,
        worker=launched["worker"],
        config=changed,
        folder=cluster.folder,
        grace_seconds=launched["grace_seconds"],
        threads=threads,
        cpus=threads if cluster.cpus is None else cluster.cpus,
        gpus=launched["gpus"],
        labels=dict(cluster.labels),
        inputs=inputs,
        wheels=cluster.wheels,
        restarts=launched["restarts"],
        tools=[f"{name}=={version(name)}" for name in _tools(launched["worker"])],
    )
    python = bridge_python(cluster, progress)
    environment = bridge_variables(cluster)
    socket = _socket(cluster, environment)
    settings = {"cluster": cluster.name, "address": cluster.address, "socket": str(socket)}
    return {
        "command": bridge_command(python, settings),
        "environment": environment,
        "socket": str(socket),
        "log": str(home() / "bridges" / f"{socket.stem}.log"),
        "run": {"job": job.to_json(), "variables": dict(variables)},
    }


def _tools(worker: str) -> tuple[str, ...]:
    return (*_TOOLS, *_OF_MODULES) if worker in OUR_MODULES else _TOOLS


def given_gpus(gpus: int | Sequence[int] | None, on: str | None) -> int | Sequence[int]:
    """Return what ``gpus=`` of a run says; None stands for those of its cluster's profile, here for none."""
    if gpus is not None:
        return gpus
    return 0 if on is None else find(on).gpus


def gpu_count(gpus: Any) -> int:
    """Return how many GPUs a run on a cluster reserves. Raises ConfigurationError for other than a count."""
    if isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 0:
        raise ConfigurationError(f"gpus={gpus!r}: on a cluster give how many, 0, 1, …; Ray chooses which")
    return gpus


def check_restarts(restarts: Any, on: str | None) -> None:
    """Raise ConfigurationError for what is no count, and for a run on this machine."""
    if isinstance(restarts, bool) or not isinstance(restarts, int) or restarts < 0:
        raise ConfigurationError(f"restarts={restarts!r}: give how many, 0, 1, …")
    if restarts and on is None:
        raise ConfigurationError(
            f"restarts={restarts}: only a run on a cluster is begun again, when its node is lost: give on= "
            "too, or leave it out"
        )


def _socket(cluster: Cluster, environment: Mapping[str, str]) -> Path:
    """Return the socket of the bridge for a cluster, in a folder that is this user's alone."""
    folder = Path(tempfile.gettempdir()) / f"mosaic-lab-bridges-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise MosaicError(f"{folder} is not private: delete it, then start the run again")
    about = [str(bridge_code()), cluster.name, cluster.address, *sorted(environment.items())]
    return folder / f"{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}.sock"
