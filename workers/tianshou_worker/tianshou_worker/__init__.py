"""MOSAIC Lab's worker for Tianshou: upstream's algorithms, collectors and trainers, in this process."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS

    try:
        upstream = metadata.version("tianshou")
    except metadata.PackageNotFoundError:
        upstream = ""
    about = WorkerMetadata(
        name="tianshou",
        version=__version__,
        description="Tianshou's algorithms, online and from recorded datasets, run unmodified",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/thu-ml/tianshou",
        upstream_library="tianshou",
        upstream_version=upstream,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="tianshou",
        supported_paradigms=["single_agent"],
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector"],
        supports_checkpointing=True,
        estimated_memory_mb=600,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {"actions": " or ".join(one.actions), "agents": "one", "learning": one.learning}
            for name, one in ALGORITHMS.items()
        },
    )
    return about, capabilities
