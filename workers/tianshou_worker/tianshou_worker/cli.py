"""The worker: its metadata and its command line, `python -m tianshou_worker.cli`."""

from __future__ import annotations

import os
import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.import_hooks import defer_imports
from mosaic_contract.metadata import describe_algorithms

from .algorithms import ALGORITHMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    return describe_worker(
        "tianshou",
        "mosaic-tianshou-worker",
        upstream_library="tianshou",
        supported_paradigms=["single_agent", "aec"],
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        modes=["train", "operate", "arena"],
        acts_in_batches=True,
        uses_environment_servers=True,
        steps_together=True,
        **describe_algorithms(ALGORITHMS),
    )


WORKER = Worker(
    get_worker_metadata,
    deferred("tianshou_worker.config:TianshouPlan.of"),
    deferred("tianshou_worker.runtime:train"),
    deferred("tianshou_worker.hyperparameters:all_hyperparameters"),
    operate=deferred("tianshou_worker.operator:operate"),
    make_environment=deferred("tianshou_worker.environments:make_for_arena"),
    wraps=True,
    preload=["tianshou_worker.runtime"],
)

if __name__ == "__main__":
    defer_imports("tianshou", "pandas", "matplotlib.figure")
    # Compiling with numba takes longer than it saves in upstream's small loops.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    os.environ.setdefault("TQDM_DELAY", "1000000")  # seconds: no progress bars in the run's log
    sys.exit(main(WORKER))
