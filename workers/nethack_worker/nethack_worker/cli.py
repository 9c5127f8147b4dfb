"""The worker's metadata and command line, `python -m nethack_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "nethack",
        "mosaic-nethack-worker",
        upstream_library="nle",
        env_families=["nethack", "minihack"],
        action_spaces=["Discrete"],
        observation_spaces=["Dict"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "nethack", {"nethack_worker.nethack_tasks": ["NetHack*"], "nethack_worker.minihack_tasks": ["MiniHack-*"]}
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
