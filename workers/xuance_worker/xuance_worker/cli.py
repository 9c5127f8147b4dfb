"""The worker: its metadata and its command line, `python -m xuance_worker.cli`."""

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
        "xuance",
        "mosaic-xuance-worker",
        upstream_library="xuance",
        supported_paradigms=["single_agent", "parallel"],
        env_families=["gymnasium", "mpe2", "pettingzoo"],
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
    deferred("xuance_worker.config:XuancePlan.of"),
    deferred("xuance_worker.runtime:train"),
    deferred("xuance_worker.hyperparameters:all_hyperparameters"),
    operate=deferred("xuance_worker.operator:operate"),
    make_environment=deferred("xuance_worker.environments:make_for_arena"),
    wraps=True,
    preload=["xuance_worker.runtime"],
)

if __name__ == "__main__":
    defer_imports("xuance", "scipy.signal")
    defer_imports("xuance.torch", "wandb")
    # Progress bars do not belong in a log. If disabled, upstream's recurrent loop would miss its own bar.
    os.environ.setdefault("TQDM_DELAY", "1e9")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # SDL would swallow SIGTERM
    sys.exit(main(WORKER))
