"""MOSAIC Lab's environments of Procgen and Overcooked."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither."""
    return describe_worker(
        "procgen",
        __version__,
        "Environments: Procgen's 16 games and Overcooked, a kitchen for two",
        author="The MOSAIC Lab developers",
        homepage="https://pypi.org/project/procgen-mirror",
        upstream_library="procgen-mirror",
        license="MIT",
        supported_paradigms=PARADIGMS,
        env_families=["procgen", "overcooked"],
        max_agents=2,
        action_spaces=["Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )
