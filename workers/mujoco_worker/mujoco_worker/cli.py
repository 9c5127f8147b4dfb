"""The worker's metadata and command line, `python -m mujoco_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "mujoco",
        "mosaic-mujoco-worker",
        upstream_library="mujoco",
        env_families=["gymnasium-mujoco", "gymnasium-robotics", "dm_control"],
        action_spaces=["Box"],
        observation_spaces=["Box", "Dict"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "mujoco",
    {
        "mujoco_worker.control_suite": ["dm_control/*"],
        "mujoco_worker.robotics": [
            *("AdroitHand*", "AntMaze_*", "Fetch*", "FrankaKitchen-*", "HandManipulate*", "HandReach*"),
            "PointMaze_*",
        ],
        "mujoco_worker.gymnasium_robots": ["*-v*"],
    },
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
