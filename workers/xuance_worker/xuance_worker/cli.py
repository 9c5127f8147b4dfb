"""The worker: its metadata and its command line, `python -m xuance_worker.cli`."""

import os
import sys

from mosaic_contract import deferred, main
from mosaic_contract.import_hooks import defer_imports
from mosaic_contract.worker import training_worker

from .algorithms import ALGORITHMS

WORKER = training_worker(
    "xuance",
    "xuance_worker.config:XuancePlan",
    ALGORITHMS,
    make_environment=deferred("xuance_worker.environments:make_for_arena"),
    preload=["xuance_worker.runtime"],
    upstream_library="xuance",
    supported_paradigms=["single_agent", "parallel"],
    env_families=["gymnasium", "mpe2", "pettingzoo"],
    action_spaces=["discrete", "continuous"],
    observation_spaces=["vector", "image"],
    steps_together=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    defer_imports("xuance", "scipy.signal")
    defer_imports("xuance.torch", "wandb")
    # Progress bars do not belong in a log. If disabled, upstream's recurrent loop would miss its own bar.
    os.environ.setdefault("TQDM_DELAY", "1e9")
    sys.exit(main(WORKER))
