"""MOSAIC Lab's games of TextArena."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "text",
        __version__,
        "The games of TextArena: played in text, by one, two or more players",
        author="The MOSAIC Lab developers",
        homepage="https://www.textarena.ai",
        upstream_library="textarena",
        license="MIT",
        supported_paradigms=["aec"],
        env_families=["textarena"],
        action_spaces=["Text"],
        observation_spaces=["Text"],
        max_agents=15,
        modes=["arena"],
    )
