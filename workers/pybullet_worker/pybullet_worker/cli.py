"""The worker's metadata and command line, `python -m pybullet_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "pybullet",
        "mosaic-pybullet-worker",
        upstream_library="pybullet",
        env_families=["pybullet"],
        action_spaces=["Box", "Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies("pybullet", {"pybullet_worker.robots": ["*"]})
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
