"""The worker: its environments and its command line, `python -m jax_worker.cli`. No environment library is
imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "jax",
    {"jax_worker.gymnax_games": ["gymnax/*"], "jax_worker.craftax_games": ["Craftax-*"]},
    upstream_library="gymnax",
    env_families=["gymnax", "craftax"],
    action_spaces=["Discrete", "Box"],
    observation_spaces=["Box", "Discrete"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
