"""The worker's metadata and command line, `python -m arcade_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "arcade",
        "mosaic-arcade-worker",
        upstream_library="stable-retro",
        env_families=["stable-retro", "griddly"],
        action_spaces=["MultiBinary", "Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "arcade", {"arcade_worker.griddly_games": ["GDY-*"], "arcade_worker.console_games": ["*-v*"]}
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
