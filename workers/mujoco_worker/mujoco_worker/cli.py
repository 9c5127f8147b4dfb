"""`python -m mujoco_worker.cli --arena`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main
from mosaic_contract.arena import EnvironmentFamilies

from . import get_worker_metadata

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
