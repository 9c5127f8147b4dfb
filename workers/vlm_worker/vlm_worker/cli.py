"""`python -m vlm_worker.cli --interactive`: the command line of the worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mosaic_contract import AgentSetup, Worker, main

from . import get_worker_metadata

if TYPE_CHECKING:
    from .operator import VisionOperator


def operate(setup: AgentSetup) -> VisionOperator:
    """Return the operator of one agent."""
    from .operator import VisionOperator

    return VisionOperator(setup)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, operate=operate, concurrent=True)))
