"""MOSAIC Lab's worker for policies of the user's own, from a Python file."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports nothing of the user's."""
    about = WorkerMetadata(
        name="policy",
        version=__version__,
        description="Plays a policy of yours: a function, object, class or factory in a Python file.",
        author="The MOSAIC Lab developers",
        homepage="https://numpy.org",
        upstream_library="numpy",
        upstream_version=metadata.version("numpy"),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="policy",
        supported_paradigms=["single_agent", "parallel", "aec"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"],
        max_agents=1000,
        modes=["operate"],
    )
    return about, capabilities
