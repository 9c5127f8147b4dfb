"""`python -m placeholder_worker.cli --arena`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata

WORKER = Worker(
    get_worker_metadata,
    make_environment=deferred("placeholder_worker.environments:make"),
    environment_facts=deferred("placeholder_worker.environments:facts_of"),
    environments=deferred("placeholder_worker.environments:known"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
