"""`python -m sb3_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, deferred, main
from mosaic_contract.arena import make_gymnasium

from . import get_worker_metadata
from .config import resolve
from .hyperparameters import all_hyperparameters

WORKER = Worker(
    get_worker_metadata,
    resolve,
    deferred("sb3_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("sb3_worker.operator:operate"),
    make_environment=make_gymnasium,
    wraps=True,
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
