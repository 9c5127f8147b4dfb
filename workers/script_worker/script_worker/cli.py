"""`python -m script_worker.cli --config FILE`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main

from . import get_worker_metadata
from .config import PARAMETERS, resolve
from .runtime import train

WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    lambda: {"script": list(PARAMETERS.values())},
    optional=("algorithm", "env_id", "total_timesteps"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
