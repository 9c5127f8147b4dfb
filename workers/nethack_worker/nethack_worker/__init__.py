"""MOSAIC Lab's environments of NetHack and MiniHack."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither."""
    return describe_worker(
        "nethack",
        __version__,
        "Environments: NetHack (the NetHack Learning Environment) and MiniHack",
        author="The MOSAIC Lab developers",
        homepage="https://pypi.org/project/nle",
        upstream_library="nle",
        license="MIT",
        env_families=["nethack", "minihack"],
        action_spaces=["Discrete"],
        observation_spaces=["Dict"],
        modes=["arena"],
    )
