"""The worker: its metadata and its command line, `python -m tianshou_worker.cli`."""

import os
import sys

from mosaic_contract import deferred, main
from mosaic_contract.import_hooks import defer_imports
from mosaic_contract.worker import training_worker

from .algorithms import ALGORITHMS

WORKER = training_worker(
    "tianshou",
    "tianshou_worker.config:TianshouPlan",
    ALGORITHMS,
    make_environment=deferred("tianshou_worker.environments:make_for_arena"),
    preload=["tianshou_worker.runtime"],
    upstream_library="tianshou",
    supported_paradigms=["single_agent", "aec"],
    env_families=["gymnasium"],
    action_spaces=["discrete", "continuous"],
    observation_spaces=["vector", "image"],
    steps_together=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    defer_imports("tianshou", "pandas", "matplotlib.figure")
    # Compiling with numba takes longer than it saves in upstream's small loops.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    os.environ.setdefault("TQDM_DELAY", "1000000")  # seconds: no progress bars in the run's log
    sys.exit(main(WORKER))
