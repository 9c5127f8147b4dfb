"""`python -m placeholder_worker.cli --interactive`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata

WORKER = Worker(get_worker_metadata, operate=deferred("placeholder_worker.operator:Policy"))

if __name__ == "__main__":
    sys.exit(main(WORKER))
