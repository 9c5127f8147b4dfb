"""MOSAIC Lab's games of OpenSpiel."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "openspiel",
        __version__,
        "The games of OpenSpiel: boards, cards, dice, auctions, matrix games, for one to ten players",
        author="The MOSAIC Lab developers",
        homepage="https://openspiel.readthedocs.io",
        upstream_library="open-spiel",
        license="MIT",
        supported_paradigms=["aec"],
        env_families=["openspiel"],
        max_agents=10,
        modes=["arena"],
    )
