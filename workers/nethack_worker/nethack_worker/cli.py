"""The worker: its environments and its command line, `python -m nethack_worker.cli`. No environment library
is imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "nethack",
    {"nethack_worker.nethack_tasks": ["NetHack*"], "nethack_worker.minihack_tasks": ["MiniHack-*"]},
    upstream_library="nle",
    env_families=["nethack", "minihack"],
    action_spaces=["Discrete"],
    observation_spaces=["Dict"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
