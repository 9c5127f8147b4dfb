"""The worker's metadata and command line, `python -m script_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main

from .config import PARAMETERS, resolve
from .runtime import train


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import TensorBoard."""
    return describe_worker(
        "script",
        "mosaic-script-worker",
        upstream_library="tensorboard",
        algorithms=["script"],
        modes=["train"],
    )


WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    lambda: {"script": list(PARAMETERS.values())},
    optional=("algorithm", "env_id", "total_timesteps"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
