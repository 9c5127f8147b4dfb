"""MOSAIC Lab's passive baseline: no-op or still."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import NumPy."""
    return describe_worker(
        "passive",
        __version__,
        "Does nothing, or as little as the actions allow, and says what it chose.",
        author="The MOSAIC Lab developers",
        homepage="https://numpy.org",
        upstream_library="numpy",
        license="MIT",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        estimated_memory_mb=40,
        modes=["operate"],
    )
