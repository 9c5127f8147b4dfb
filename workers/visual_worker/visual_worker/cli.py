"""The worker's metadata and command line, `python -m visual_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "visual",
        "mosaic-visual-worker",
        upstream_library="vizdoom",
        env_families=["vizdoom", "crafter", "miniworld", "highway-env"],
        action_spaces=["Discrete", "MultiBinary", "Box", "Dict"],
        observation_spaces=["Box", "Dict"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "visual",
    {
        "visual_worker.doom": ["Vizdoom*"],
        "visual_worker.crafter_game": ["Crafter*"],
        "visual_worker.mini_world": ["MiniWorld-*"],
        "visual_worker.highway": ["*-v*"],
    },
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
