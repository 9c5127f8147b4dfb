"""`python -m ray_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import logging
import os

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata
from .config import resolve
from .environments import make
from .hyperparameters import all_hyperparameters

_PROCESS_VARIABLES = {
    "OMP_NUM_THREADS": "1",  # two threads on busy cores make DQN and SAC crawl
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_NO_SIGNAL_HANDLERS": "1",  # SDL would swallow SIGTERM
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics are sent
    "RAY_DEDUP_LOGS": "0",
}

WORKER = Worker(
    get_worker_metadata,
    resolve,
    deferred("ray_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("ray_worker.operator:operate"),
    make_environment=make,
    wraps=True,
)

if __name__ == "__main__":
    for name, value in _PROCESS_VARIABLES.items():
        os.environ.setdefault(name, value)
    code = main(WORKER)
    logging.shutdown()
    # A thread may still be in a call of Ray, for which taking the interpreter apart would wait.
    os._exit(code)
