"""The worker's metadata and command line, `python -m procgen_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies
from mosaic_contract.metadata import PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "procgen",
        "mosaic-procgen-worker",
        upstream_library="procgen-mirror",
        supported_paradigms=PARADIGMS,
        env_families=["procgen", "overcooked"],
        action_spaces=["Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "procgen", {"procgen_worker.procgen_games": ["procgen-*"], "procgen_worker.overcooked": ["overcooked/*"]}
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
