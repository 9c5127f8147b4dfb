"""MOSAIC Lab's worker for Jumanji: its environments, its A2C, and SBX's PPO on them, in this process."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports nothing of upstream."""
    try:
        upstream = metadata.version("jumanji")
    except metadata.PackageNotFoundError:
        upstream = ""
    about = WorkerMetadata(
        name="jumanji",
        version=__version__,
        description="Jumanji's environments in JAX: its own A2C and SBX's PPO on them; arenas of them",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/instadeepai/jumanji",
        upstream_library="jumanji",
        upstream_version=upstream,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="jumanji",
        supported_paradigms=["single_agent"],
        env_families=["jumanji"],
        action_spaces=["discrete", "multidiscrete"],
        observation_spaces=["dict"],
        supports_checkpointing=True,
        estimated_memory_mb=900,
        algorithms=["a2c", "ppo"],
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {"actions": "discrete or multidiscrete", "agents": "one", "learning": "on-policy"}
            for name in ("a2c", "ppo")
        },
    )
    return about, capabilities
