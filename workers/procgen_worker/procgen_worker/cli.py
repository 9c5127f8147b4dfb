"""The worker: its environments and its command line, `python -m procgen_worker.cli`. No environment library
is imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker
from mosaic_contract.metadata import PARADIGMS

WORKER = environment_worker(
    "procgen",
    {"procgen_worker.procgen_games": ["procgen-*"], "procgen_worker.overcooked": ["overcooked/*"]},
    upstream_library="procgen-mirror",
    supported_paradigms=PARADIGMS,
    env_families=["procgen", "overcooked"],
    action_spaces=["Discrete"],
    observation_spaces=["Box"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
