"""`python -m cleanrl_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import sys

from mosaic_contract import AgentSetup, Operator, Worker, main

from . import environments, get_worker_metadata
from .config import all_hyperparameters
from .runtime import CleanRL


def worker() -> Worker:
    """Return the worker that the contract's command line runs."""
    cleanrl = CleanRL()
    return Worker(
        metadata=get_worker_metadata,
        resolve=cleanrl.resolve,
        train=cleanrl.train,
        hyperparameters=all_hyperparameters,
        operate=operate,
        make_environment=environments.make,
        wraps=True,
        inside=True,
    )


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Torch is imported here only."""
    from . import operator

    return operator.operate(setup)


if __name__ == "__main__":
    sys.exit(main(worker()))
