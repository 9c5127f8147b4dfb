"""`python -m multiagent_worker.cli --arena`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main
from mosaic_contract.arena import EnvironmentFamilies

from . import atari, get_worker_metadata

FAMILIES = EnvironmentFamilies(
    "multiagent",
    {
        "multiagent_worker.warehouse": ["rware-*"],
        "multiagent_worker.foraging": ["Foraging-*"],
        "multiagent_worker.atari": atari.PATTERNS,
    },
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
