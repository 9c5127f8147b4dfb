"""MOSAIC Lab's games of consoles and grids: stable-retro and Griddly."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "arcade",
        __version__,
        "Games of consoles (stable-retro) and on grids (Griddly)",
        author="The MOSAIC Lab developers",
        homepage="https://stable-retro.farama.org",
        upstream_library="stable-retro",
        license="MIT",
        env_families=["stable-retro", "griddly"],
        action_spaces=["MultiBinary", "Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )
