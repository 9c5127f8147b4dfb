"""MOSAIC Lab's environments of Gymnasium, PettingZoo, mpe2 and MiniGrid."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "gymnasium",
        __version__,
        "Environments: Gymnasium (classic control, toy text, Box2D, Atari), PettingZoo (classic, "
        "butterfly, SISL), mpe2, MiniGrid and BabyAI",
        author="The MOSAIC Lab developers",
        homepage="https://gymnasium.farama.org",
        upstream_library="gymnasium",
        license="MIT",
        supported_paradigms=PARADIGMS,
        env_families=["gymnasium", "pettingzoo", "mpe2", "minigrid"],
        max_agents=100,
        modes=["arena"],
    )
