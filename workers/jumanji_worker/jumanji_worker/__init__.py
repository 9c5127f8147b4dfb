"""MOSAIC Lab's worker for Jumanji: its environments, its A2C, and SBX's PPO on them, in this process."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .hyperparameters import all_hyperparameters, bound

    return describe_worker(
        "jumanji",
        __version__,
        "Jumanji's environments in JAX: its own A2C and SBX's PPO on them; arenas of them",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/instadeepai/jumanji",
        upstream_library="jumanji",
        license="MIT",
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
        resume_bound={
            name: bound(parameter.name for parameter in known)
            for name, known in all_hyperparameters().items()
        },
    )
