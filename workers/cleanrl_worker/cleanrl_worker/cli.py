"""`python -m cleanrl_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, deferred, main

from . import environments, get_worker_metadata
from .config import all_hyperparameters, resolve
from .runtime import train

WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    all_hyperparameters,
    operate=deferred("cleanrl_worker.operator:operate"),
    make_environment=environments.make,
    wraps=True,
    inside=True,
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
