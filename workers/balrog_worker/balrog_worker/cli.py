"""The worker's metadata and command line, `python -m balrog_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main

from .config import PARAMETERS, resolve
from .runtime import train


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment and no SDK."""
    return describe_worker(
        "balrog",
        "mosaic-balrog-worker",
        upstream_library="BALROG",
        env_families=["babyai", "minigrid", "crafter", "textworld", "nle", "minihack"],
        action_spaces=["Discrete", "Text"],
        observation_spaces=["Dict", "Box", "Text"],
        algorithms=["eval"],
        modes=["operate", "arena", "train"],
    )


WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    lambda: {"eval": list(PARAMETERS.values())},
    optional=("env_id", "total_timesteps"),
    operate=deferred("balrog_worker.operator:BalrogOperator"),
    make_environment=deferred("balrog_worker.environments:make"),
    environment_facts=deferred("balrog_worker.environments:facts_of"),
    environments=deferred("balrog_worker.environments:known"),
    concurrent=True,
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
