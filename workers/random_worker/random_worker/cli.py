"""`python -m random_worker.cli --interactive`: the command line of the worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mosaic_contract import AgentSetup, Worker, main

from . import get_worker_metadata

if TYPE_CHECKING:
    from .operator import RandomOperator


def operate(setup: AgentSetup) -> RandomOperator:
    from .operator import RandomOperator

    return RandomOperator(setup)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, operate=operate)))
