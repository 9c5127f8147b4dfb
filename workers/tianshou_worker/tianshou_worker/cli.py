"""`python -m tianshou_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

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
    deferred("tianshou_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("tianshou_worker.operator:operate"),
    make_environment=make_for_arena,
    wraps=True,
)

if __name__ == "__main__":
    # Compiling with numba takes longer than the small loops that upstream has it for ever save.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    os.environ.setdefault("TQDM_DELAY", "1000000")  # seconds: no progress bars in the run's log
    sys.exit(main(WORKER))
