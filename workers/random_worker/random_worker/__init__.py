"""MOSAIC Lab's random baseline: samples of Gymnasium's spaces."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker, package_facts
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of Gymnasium."""
    return describe_worker(
        "random",
        **package_facts("mosaic-random-worker"),
        upstream_library="gymnasium",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        estimated_memory_mb=60,
        modes=["operate"],
    )
