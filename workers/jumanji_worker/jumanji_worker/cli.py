"""`python -m jumanji_worker.cli` with `--config FILE`, `--interactive` or `--arena`: the command line."""

from __future__ import annotations

import logging
import os

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata
from .config import resolve
from .environments import known
from .hyperparameters import all_hyperparameters
from .process_setup import prepare

WORKER = Worker(
    get_worker_metadata,
    resolve,
    deferred("jumanji_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("jumanji_worker.operator:operate"),
    make_environment=deferred("jumanji_worker.arena_environment:ArenaEnvironment"),
    environment_facts=deferred("jumanji_worker.environment_facts:facts_of"),
    environments=known,
)

if __name__ == "__main__":
    prepare()
    code = main(WORKER)
    logging.shutdown()
    # A thread may be deep in XLA's compiler, which taking the interpreter apart would crash.
    os._exit(code)
