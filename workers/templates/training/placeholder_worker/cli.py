"""`python -m placeholder_worker.cli`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata
from .algorithms import hyperparameters

WORKER = Worker(
    get_worker_metadata,
    resolve=deferred("placeholder_worker.training:resolve"),
    train=deferred("placeholder_worker.training:train"),
    hyperparameters=hyperparameters,
    operate=deferred("placeholder_worker.operator:Policy"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
