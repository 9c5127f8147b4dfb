"""The worker: its metadata and its command line, `python -m cleanrl_worker.cli`."""

from __future__ import annotations

import sys
from dataclasses import replace

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import describe_algorithms

from . import environments
from .config import ScriptPlan, all_hyperparameters
from .runtime import train


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of CleanRL."""
    from .algorithms import ALGORITHMS
    from .upstream import installed

    upstream = installed()
    missing = ", ".join(upstream.unavailable()) if upstream else ""
    available = upstream.available() if upstream else list(ALGORITHMS)
    metadata, capabilities = describe_worker(
        "cleanrl",
        "mosaic-cleanrl-worker",
        upstream_library="cleanrl",
        upstream_version=upstream.version if upstream else "",
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        modes=["train", "operate", "arena"],
        acts_in_batches=True,
        uses_environment_servers=True,
        steps_together=True,
        records_observations=True,
        **{**describe_algorithms(ALGORITHMS), "algorithms": available},
    )
    if missing:
        description = f"{metadata.description.rstrip('.')}; this version does not have {missing}"
        metadata = replace(metadata, description=description)
    return metadata, capabilities


WORKER = Worker(
    get_worker_metadata,
    ScriptPlan.of,
    train,
    all_hyperparameters,
    operate=deferred("cleanrl_worker.operator:operate"),
    make_environment=environments.make,
    wraps=True,
    inside=True,
    preload=["cleanrl_worker.hooks.preload"],
    starts_python=True,
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
