"""`python -m policy_worker.cli --interactive`: the command line of the worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mosaic_contract import AgentSetup, Worker, main

from . import get_worker_metadata

if TYPE_CHECKING:
    from .operator import PolicyOperator


def operate(setup: AgentSetup) -> PolicyOperator:
    """The operator of one agent; the user's file is imported here."""
    from .operator import PolicyOperator

    return PolicyOperator(setup)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, operate=operate)))
