"""The worker: its environments and its command line, `python -m visual_worker.cli`. No environment library is
imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "visual",
    {
        "visual_worker.doom": ["Vizdoom*"],
        "visual_worker.crafter_game": ["Crafter*"],
        "visual_worker.mini_world": ["MiniWorld-*"],
        "visual_worker.highway": ["*-v*"],
    },
    upstream_library="vizdoom",
    env_families=["vizdoom", "crafter", "miniworld", "highway-env"],
    action_spaces=["Discrete", "MultiBinary", "Box", "Dict"],
    observation_spaces=["Box", "Dict"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
