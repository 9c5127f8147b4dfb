"""MOSAIC Lab's worker for BALROG: its agents, its environments, and its own evaluation."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no environment and no SDK."""
    return describe_worker(
        "balrog",
        __version__,
        (
            "BALROG's protocol for language models: seven agents; BabyAI, MiniGrid, Crafter, TextWorld, "
            "NetHack and MiniHack as text; upstream's eval.py as a run"
        ),
        author="The MOSAIC Lab developers",
        homepage="https://balrogai.com",
        upstream_library="BALROG",
        license="MIT",
        env_families=["babyai", "minigrid", "crafter", "textworld", "nle", "minihack"],
        action_spaces=["Discrete", "Text"],
        observation_spaces=["Dict", "Box", "Text"],
        estimated_memory_mb=300,
        algorithms=["eval"],
        modes=["operate", "arena", "train"],
    )
