"""MOSAIC Lab's worker for BALROG: its agents, its environments, and its own evaluation."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return who this worker is and what it can do. Imports no environment and no SDK."""
    about = WorkerMetadata(
        name="balrog",
        version=__version__,
        description=(
            "BALROG's protocol for language models: seven agents; BabyAI, MiniGrid, Crafter, TextWorld, "
            "NetHack and MiniHack as text; upstream's eval.py as a run"
        ),
        author="The MOSAIC Lab developers",
        homepage="https://balrogai.com",
        upstream_library="BALROG",
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="balrog",
        supported_paradigms=["single_agent"],
        env_families=["babyai", "minigrid", "crafter", "textworld", "nle", "minihack"],
        action_spaces=["Discrete", "Text"],
        observation_spaces=["Dict", "Box", "Text"],
        max_agents=1,
        estimated_memory_mb=300,
        algorithms=["eval"],
        modes=["operate", "arena", "train"],
    )
    return about, capabilities
