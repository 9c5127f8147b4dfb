"""The worker's metadata and command line, `python -m multiagent_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies

from . import atari


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the environments."""
    return describe_worker(
        "multiagent",
        "mosaic-multiagent-worker",
        upstream_library="pettingzoo",
        supported_paradigms=["parallel"],
        env_families=["rware", "lbforaging", "pettingzoo atari"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "multiagent",
    {
        "multiagent_worker.warehouse": ["rware-*"],
        "multiagent_worker.foraging": ["Foraging-*"],
        "multiagent_worker.atari": atari.PATTERNS,
    },
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
