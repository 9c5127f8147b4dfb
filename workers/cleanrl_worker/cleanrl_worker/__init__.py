"""MOSAIC Lab's worker for CleanRL: upstream's scripts run unmodified, their metrics and models come out."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do with the installed CleanRL. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS
    from .upstream import installed

    upstream = installed()
    missing = upstream.unavailable() if upstream else {}
    notes = "".join(f"; {name} is not available: {reason}" for name, reason in missing.items())
    metadata = WorkerMetadata(
        name="cleanrl",
        version=__version__,
        description=f"CleanRL's single-file algorithms, run unmodified{notes}",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/vwxyzjn/cleanrl",
        upstream_library="cleanrl",
        upstream_version=upstream.version if upstream else "",
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="cleanrl",
        supported_paradigms=["single_agent"],
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector"],
        supports_checkpointing=True,
        estimated_memory_mb=500,
        algorithms=upstream.available() if upstream else list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {
                "actions": one.action,
                "agents": "one",
                "learning": "on-policy" if one.on_policy else "off-policy",
            }
            for name, one in ALGORITHMS.items()
        },
    )
    return metadata, capabilities
