"""MOSAIC Lab's robotic warehouses, level-based foraging and PettingZoo's Atari games."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the environments."""
    return describe_worker(
        "multiagent",
        __version__,
        "Environments whose agents act at once: robotic warehouses, level-based foraging, PettingZoo's Atari",
        author="The MOSAIC Lab developers",
        homepage="https://pettingzoo.farama.org",
        upstream_library="pettingzoo",
        license="MIT",
        supported_paradigms=["parallel"],
        env_families=["rware", "lbforaging", "pettingzoo atari"],
        max_agents=20,
        modes=["arena"],
    )
