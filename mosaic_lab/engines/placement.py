"""Launch documents for runs on clusters."""

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
from mosaic_lab.engines.job import Job, with_inputs
from mosaic_lab.engines.node_environment import OUR_MODULES
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.workers.home import home

_TOOLS = ("uv", "packaging", "platformdirs", "psutil")  # requirements of our installer on a node
_OF_MODULES = ("numpy", "msgspec", "tsdownsample")  # additional requirements of `OUR_MODULES`


def bridge_of(
    cluster: Cluster,
    run_id: str,
    launched: Mapping[str, Any],
    config: Mapping[str, Any],
    variables: Mapping[str, str],
) -> dict[str, Any]:
    """Return `Launch.bridge` for a run.

    ``launched`` is the content of the run's ``launch.json``, ``config`` its worker's configuration,
    ``variables`` are the worker's variables set by the user. Raises ConfigurationError and MosaicError
    (missing token, files too large, no bridge).
    """
    threads = launched["threads"]
    tools = (*_TOOLS, *_OF_MODULES) if launched["worker"] in OUR_MODULES else _TOOLS
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
        tools=[f"{name}=={version(name)}" for name in tools],
    )
    python = bridge_python(cluster, lambda line: None)
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


def given_gpus(gpus: int | Sequence[int] | None, on: str | None) -> int | Sequence[int]:
    """Return the GPUs for a value of ``gpus=``; None means those of the cluster's profile, or none on this
    machine."""
    if gpus is not None:
        return gpus
    return 0 if on is None else find(on).gpus


def gpu_count(gpus: Any) -> int:
    """Return the number of GPUs to reserve on a cluster. Raises ConfigurationError if ``gpus`` is not a
    count."""
    if isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 0:
        raise ConfigurationError(
            f"gpus={gpus!r}: must be an integer ≥ 0 on a cluster, where Ray chooses the GPUs"
        )
    return gpus


def check_restarts(restarts: int, on: str | None) -> None:
    """Raise ConfigurationError for restarts of a run on this machine."""
    if restarts and on is None:
        raise ConfigurationError(
            f"restarts={restarts}: only a run on a cluster is restarted when its node is lost: give on= "
            "too, or leave it out"
        )


def _socket(cluster: Cluster, environment: Mapping[str, str]) -> Path:
    """Return the socket of the bridge for a cluster, in a folder that only this user can access."""
    folder = Path(tempfile.gettempdir()) / f"mosaic-lab-bridges-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise MosaicError(f"{folder} is not private: delete it, then start the run again")
    identity = [str(bridge_code()), cluster.name, cluster.address, *sorted(environment.items())]
    return folder / f"{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}.sock"
