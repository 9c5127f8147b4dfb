"""The worker: its environments and its command line, `python -m pybullet_worker.cli`. No environment library
is imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "pybullet",
    {"pybullet_worker.robots": ["*"]},
    upstream_library="pybullet",
    env_families=["pybullet"],
    action_spaces=["Box", "Discrete"],
    observation_spaces=["Box"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
