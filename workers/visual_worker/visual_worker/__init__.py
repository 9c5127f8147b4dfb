"""MOSAIC Lab's environments that are seen: ViZDoom, Crafter, MiniWorld, highway-env."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "visual",
        __version__,
        "Environments that are seen: ViZDoom, Crafter, MiniWorld, highway-env",
        author="The MOSAIC Lab developers",
        homepage="https://vizdoom.farama.org",
        upstream_library="vizdoom",
        license="MIT",
        env_families=["vizdoom", "crafter", "miniworld", "highway-env"],
        action_spaces=["Discrete", "MultiBinary", "Box", "Dict"],
        observation_spaces=["Box", "Dict"],
        modes=["arena"],
    )
