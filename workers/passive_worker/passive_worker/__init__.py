"""MOSAIC Lab's passive baseline: no-op or still."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Does not import NumPy."""
    try:
        upstream = metadata.version("numpy")
    except metadata.PackageNotFoundError:
        upstream = ""
    about = WorkerMetadata(
        name="passive",
        version=__version__,
        description="Does nothing, or as little as the actions allow, and says what it chose.",
        author="The MOSAIC Lab developers",
        homepage="https://numpy.org",
        upstream_library="numpy",
        upstream_version=upstream,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="passive",
        supported_paradigms=["single_agent", "parallel", "aec"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"],
        max_agents=1000,
        estimated_memory_mb=40,
        modes=["operate"],
    )
    return about, capabilities
