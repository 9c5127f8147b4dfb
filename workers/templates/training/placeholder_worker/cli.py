"""The worker: its metadata and its command line, `python -m placeholder_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main

from .algorithms import ALGORITHMS, hyperparameters


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Every listing calls this: it imports no library."""
    return describe_worker(
        "placeholder",
        "placeholder-worker",
        # FILL IN: the name of the library's package, the spaces that its algorithms support.
        upstream_library="gymnasium",
        env_families=["gymnasium"],
        action_spaces=["Discrete"],
        observation_spaces=["Box"],
        algorithms=list(ALGORITHMS),
        modes=["train", "operate"],
    )


WORKER = Worker(
    get_worker_metadata,
    resolve=deferred("placeholder_worker.training:resolve"),
    train=deferred("placeholder_worker.training:train"),
    hyperparameters=hyperparameters,
    operate=deferred("placeholder_worker.operator:Policy"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
