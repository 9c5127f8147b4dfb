"""MOSAIC Lab's worker for Stable-Baselines3 and sb3-contrib: upstream's algorithms, in this process."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS, EVOLUTION, bound_to

    return describe_worker(
        "sb3",
        __version__,
        "The algorithms of Stable-Baselines3 and sb3-contrib, run unmodified",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/DLR-RM/stable-baselines3",
        upstream_library="stable-baselines3, sb3-contrib",
        license="MIT",
        env_families=["gymnasium"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary"],
        observation_spaces=["vector", "image", "dict"],
        supports_checkpointing=True,
        estimated_memory_mb=600,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {"actions": " or ".join(one.actions), "agents": "one", "learning": one.learning}
            for name, one in ALGORITHMS.items()
        },
        resume_bound={
            name: dict(bound_to(one)) for name, one in ALGORITHMS.items() if one.family != EVOLUTION
        },
        resume_elsewhere=[name for name, one in ALGORITHMS.items() if one.family != EVOLUTION],
    )
