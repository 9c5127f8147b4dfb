"""MOSAIC Lab's team games of mosaic-multigrid."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker, package_facts


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "multigrid",
        **package_facts("mosaic-multigrid-worker"),
        upstream_library="mosaic-multigrid",
        supported_paradigms=["parallel"],
        env_families=["mosaic-multigrid"],
        max_agents=8,
        modes=["arena"],
    )
