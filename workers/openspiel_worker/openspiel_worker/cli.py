"""The worker: its environments and its command line, `python -m openspiel_worker.cli`."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "openspiel",
    {"openspiel_worker.games": ["OpenSpiel/*"]},
    upstream_library="open-spiel",
    supported_paradigms=["aec"],
    env_families=["openspiel"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
