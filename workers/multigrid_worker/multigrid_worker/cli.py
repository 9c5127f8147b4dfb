"""The worker's metadata and command line, `python -m multigrid_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, describe_worker, main
from mosaic_contract.arena import EnvironmentFamilies


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment library."""
    return describe_worker(
        "multigrid",
        "mosaic-multigrid-worker",
        upstream_library="mosaic-multigrid",
        supported_paradigms=["parallel"],
        env_families=["mosaic-multigrid", "multigrid"],
        modes=["arena"],
    )


FAMILIES = EnvironmentFamilies(
    "multigrid",
    {"multigrid_worker.team_games": ["MosaicMultiGrid-*"], "multigrid_worker.shared_grids": ["MultiGrid-*"]},
)
WORKER = Worker(metadata=get_worker_metadata, **FAMILIES.callables)

if __name__ == "__main__":
    sys.exit(main(WORKER))
