"""MOSAIC Lab's random baseline: samples of Gymnasium's spaces."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports nothing of Gymnasium."""
    try:
        upstream = metadata.version("gymnasium")
    except metadata.PackageNotFoundError:
        upstream = ""
    about = WorkerMetadata(
        name="random",
        version=__version__,
        description="Acts at random, uniformly over the legal actions; the same seed, the same actions.",
        author="The MOSAIC Lab developers",
        homepage="https://gymnasium.farama.org",
        upstream_library="gymnasium",
        upstream_version=upstream,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="random",
        supported_paradigms=["single_agent", "parallel", "aec"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"],
        max_agents=1000,
        estimated_memory_mb=60,
        modes=["operate"],
    )
    return about, capabilities
