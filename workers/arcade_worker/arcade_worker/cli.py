"""The worker: its environments and its command line, `python -m arcade_worker.cli`. No environment library is
imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "arcade",
    {"arcade_worker.griddly_games": ["GDY-*"], "arcade_worker.console_games": ["*-v*"]},
    upstream_library="stable-retro",
    env_families=["stable-retro", "griddly"],
    action_spaces=["MultiBinary", "Discrete"],
    observation_spaces=["Box"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
