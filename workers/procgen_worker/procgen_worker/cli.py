"""`python -m procgen_worker.cli --arena`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main
from mosaic_contract.arena import EnvironmentFamilies

from . import get_worker_metadata

FAMILIES = EnvironmentFamilies(
    "procgen", {"procgen_worker.procgen_games": ["procgen-*"], "procgen_worker.overcooked": ["overcooked/*"]}
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
