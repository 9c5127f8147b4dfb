"""The worker: its metadata and its command line, `python -m sb3_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.arena import make_gymnasium
from mosaic_contract.metadata import describe_algorithms

from .algorithms import ALGORITHMS
from .config import Sb3Plan
from .hyperparameters import all_hyperparameters


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    return describe_worker(
        "sb3",
        "mosaic-sb3-worker",
        upstream_library="stable-baselines3, sb3-contrib",
        env_families=["gymnasium"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary"],
        observation_spaces=["vector", "image", "dict"],
        modes=["train", "operate", "arena"],
        acts_in_batches=True,
        uses_environment_servers=True,
        steps_together=True,
        records_observations=True,
        **describe_algorithms(ALGORITHMS),
    )


WORKER = Worker(
    get_worker_metadata,
    Sb3Plan.of,
    deferred("sb3_worker.runtime:train"),
    all_hyperparameters,
    operate=deferred("sb3_worker.operator:operate"),
    make_environment=make_gymnasium,
    wraps=True,
    preload=["sb3_worker.runtime"],
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
