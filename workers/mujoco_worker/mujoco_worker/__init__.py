"""MOSAIC Lab's environments of MuJoCo: Gymnasium's, Gymnasium-Robotics and dm_control."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "mujoco",
        __version__,
        "Environments of MuJoCo: Gymnasium's robots, Gymnasium-Robotics, dm_control",
        author="The MOSAIC Lab developers",
        homepage="https://mujoco.org",
        upstream_library="mujoco",
        license="MIT",
        env_families=["gymnasium-mujoco", "gymnasium-robotics", "dm_control"],
        action_spaces=["Box"],
        observation_spaces=["Box", "Dict"],
        modes=["arena"],
    )
