"""The worker: its environments and its command line, `python -m multiagent_worker.cli`. No environment
library is imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

from . import atari

WORKER = environment_worker(
    "multiagent",
    {
        "multiagent_worker.warehouse": ["rware-*"],
        "multiagent_worker.foraging": ["Foraging-*"],
        "multiagent_worker.atari": atari.PATTERNS,
    },
    upstream_library="pettingzoo",
    supported_paradigms=["parallel"],
    env_families=["rware", "lbforaging", "pettingzoo atari"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
