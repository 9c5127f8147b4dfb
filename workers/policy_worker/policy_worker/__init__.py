"""MOSAIC Lab's worker for policies of the user's own, from a Python file."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of the user's."""
    return describe_worker(
        "policy",
        __version__,
        "Plays a policy of yours: a function, object, class or factory in a Python file.",
        author="The MOSAIC Lab developers",
        homepage="https://numpy.org",
        upstream_library="numpy",
        license="MIT",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        modes=["operate"],
    )
