"""`python -m xuance_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import os
import sys

from mosaic_contract import Worker, deferred, main

from . import get_worker_metadata
from .config import resolve
from .environments import make_for_arena
from .hyperparameters import all_hyperparameters

WORKER = Worker(
    get_worker_metadata,
    resolve,
    deferred("xuance_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("xuance_worker.operator:operate"),
    make_environment=make_for_arena,
    wraps=True,
)

if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "disabled")  # upstream imports it; nothing is ever sent
    # Bars are for terminals, and this is a log. Switched off, upstream's recurrent loop would miss its own.
    os.environ.setdefault("TQDM_DELAY", "1e9")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # SDL would swallow SIGTERM
    sys.exit(main(WORKER))
