"""The worker: its environments and its command line, `python -m mujoco_worker.cli`. No environment library is
imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "mujoco",
    {
        "mujoco_worker.control_suite": ["dm_control/*"],
        "mujoco_worker.robotics": [
            *("AdroitHand*", "AntMaze_*", "Fetch*", "FrankaKitchen-*", "HandManipulate*", "HandReach*"),
            "PointMaze_*",
        ],
        "mujoco_worker.gymnasium_robots": ["*-v*"],
    },
    upstream_library="mujoco",
    env_families=["gymnasium-mujoco", "gymnasium-robotics", "dm_control"],
    action_spaces=["Box"],
    observation_spaces=["Box", "Dict"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
