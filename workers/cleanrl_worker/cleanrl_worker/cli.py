"""`python -m cleanrl_worker.cli --config FILE`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main

from . import get_worker_metadata
from .config import all_hyperparameters
from .runtime import CleanRL


def worker() -> Worker:
    """What the contract's command line runs."""
    cleanrl = CleanRL()
    return Worker(
        metadata=get_worker_metadata,
        resolve=cleanrl.resolve,
        train=cleanrl.train,
        hyperparameters=all_hyperparameters,
    )


if __name__ == "__main__":
    sys.exit(main(worker()))
