"""The worker's metadata and command line, `python -m jax_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the environments."""
    return describe_worker(
        "jax",
        "mosaic-jax-worker",
        upstream_library="gymnax",
        env_families=["gymnax", "craftax"],
        action_spaces=["Discrete", "Box"],
        observation_spaces=["Box", "Discrete"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "jax", {"jax_worker.gymnax_games": ["gymnax/*"], "jax_worker.craftax_games": ["Craftax-*"]}
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
