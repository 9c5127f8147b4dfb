"""MOSAIC Lab's passive baseline: no-op or still."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker, package_facts
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import NumPy."""
    return describe_worker(
        "passive",
        **package_facts("mosaic-passive-worker"),
        upstream_library="numpy",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        estimated_memory_mb=40,
        modes=["operate"],
    )
