"""MOSAIC Lab's worker for Tianshou: upstream's algorithms, collectors and trainers, in this process."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS, BOUND

    return describe_worker(
        "tianshou",
        __version__,
        "Tianshou's algorithms, online and from recorded datasets, run unmodified",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/thu-ml/tianshou",
        upstream_library="tianshou",
        license="MIT",
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        max_agents=2,
        supports_self_play=True,
        supports_checkpointing=True,
        estimated_memory_mb=600,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {"actions": " or ".join(one.actions), "agents": "one", "learning": one.learning}
            for name, one in ALGORITHMS.items()
        },
        resume_bound=dict.fromkeys(ALGORITHMS, BOUND),
        resume_elsewhere=[name for name, one in ALGORITHMS.items() if not one.offline],
    )
