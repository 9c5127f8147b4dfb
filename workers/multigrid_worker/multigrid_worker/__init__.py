"""MOSAIC Lab's grids of several agents: mosaic-multigrid and multigrid."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "multigrid",
        __version__,
        "The team games of mosaic-multigrid (soccer, basketball, football, collect); grids of multigrid",
        author="The MOSAIC Lab developers",
        homepage="https://pypi.org/project/mosaic-multigrid",
        upstream_library="mosaic-multigrid",
        license="MIT",
        supported_paradigms=["parallel"],
        env_families=["mosaic-multigrid", "multigrid"],
        max_agents=8,
        modes=["arena"],
    )
