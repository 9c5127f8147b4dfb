"""`python -m text_worker.cli --arena`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, main

from . import get_worker_metadata
from .games import facts_of, known, make

WORKER = Worker(
    metadata=get_worker_metadata, make_environment=make, environment_facts=facts_of, environments=known
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
