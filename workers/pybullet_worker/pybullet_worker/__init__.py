"""MOSAIC Lab's robots of PyBullet."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the robots."""
    return describe_worker(
        "pybullet",
        __version__,
        "PyBullet's robots: walkers, pendulums, arms, Minitaur",
        author="The MOSAIC Lab developers",
        homepage="https://pybullet.org",
        upstream_library="pybullet",
        license="MIT",
        env_families=["pybullet"],
        action_spaces=["Box", "Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )
