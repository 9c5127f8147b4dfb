"""The worker's metadata and command line, `python -m gymnasium_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.metadata import PARADIGMS

from .environments import facts_of, known, make


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "gymnasium",
        "mosaic-gymnasium-worker",
        upstream_library="gymnasium",
        supported_paradigms=PARADIGMS,
        env_families=["gymnasium", "pettingzoo", "mpe2", "minigrid"],
        modes=["arena"],
    )


WORKER = Worker(
    metadata=get_worker_metadata, make_environment=make, environment_facts=facts_of, environments=known
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
