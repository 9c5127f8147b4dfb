"""MOSAIC Lab's random baseline: samples of Gymnasium's spaces."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of Gymnasium."""
    return describe_worker(
        "random",
        __version__,
        "Acts at random, uniformly over the legal actions; the same seed, the same actions.",
        author="The MOSAIC Lab developers",
        homepage="https://gymnasium.farama.org",
        upstream_library="gymnasium",
        license="MIT",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        estimated_memory_mb=60,
        modes=["operate"],
    )
