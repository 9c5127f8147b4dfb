"""The worker: its metadata and its command line, `python -m jumanji_worker.cli`."""

from __future__ import annotations

import logging
import os

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import describe_algorithms

from .process_setup import prepare


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .hyperparameters import ALGORITHMS

    return describe_worker(
        "jumanji",
        "mosaic-jumanji-worker",
        upstream_library="jumanji",
        env_families=["jumanji"],
        action_spaces=["discrete", "multidiscrete"],
        observation_spaces=["dict"],
        modes=["train", "operate", "arena"],
        **describe_algorithms(ALGORITHMS),
    )


WORKER = Worker(
    get_worker_metadata,
    deferred("jumanji_worker.config:JumanjiPlan.of"),
    deferred("jumanji_worker.runtime:train"),
    deferred("jumanji_worker.hyperparameters:all_hyperparameters"),
    operate=deferred("jumanji_worker.operator:operate"),
    make_environment=deferred("jumanji_worker.arena_environment:ArenaEnvironment"),
    environment_facts=deferred("jumanji_worker.environment_facts:facts_of"),
    environments=deferred("jumanji_worker.environments:known"),
)

if __name__ == "__main__":
    prepare()
    code = main(WORKER)
    logging.shutdown()
    # A thread may be deep in XLA's compiler, which taking the interpreter apart would crash.
    os._exit(code)
