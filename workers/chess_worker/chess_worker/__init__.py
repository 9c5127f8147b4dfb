"""MOSAIC Lab's chess players: language models in a dialog of tools, and UCI engines such as Stockfish."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither python-chess nor an SDK."""
    return describe_worker(
        "chess",
        __version__,
        "Plays chess: a language model that may look at the board and the legal moves before it "
        "moves, or a UCI engine such as Stockfish.",
        author="The MOSAIC Lab developers",
        homepage="https://python-chess.readthedocs.io",
        upstream_library="chess",
        license="MIT",
        supported_paradigms=["aec"],
        env_families=["pettingzoo"],
        action_spaces=["Discrete"],
        max_agents=1000,
        supports_self_play=True,
        estimated_memory_mb=120,
        modes=["operate"],
    )
