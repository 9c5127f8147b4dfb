"""MOSAIC Lab's environments of Gymnasium, PettingZoo, mpe2 and MiniGrid."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Which environments these are. Imports none of them."""
    about = WorkerMetadata(
        name="gymnasium",
        version=__version__,
        description="Environments: Gymnasium (classic control, toy text, Box2D, Atari), PettingZoo (classic, "
        "butterfly, SISL), mpe2, MiniGrid and BabyAI",
        author="The MOSAIC Lab developers",
        homepage="https://gymnasium.farama.org",
        upstream_library="gymnasium",
        upstream_version=_installed("gymnasium"),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="gymnasium",
        supported_paradigms=["single_agent", "parallel", "aec"],
        env_families=["gymnasium", "pettingzoo", "mpe2", "minigrid"],
        max_agents=100,
        modes=["arena"],
    )
    return about, capabilities


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
