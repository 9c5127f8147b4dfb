"""MOSAIC Lab's worker for CleanRL: upstream's scripts run unmodified, their metrics and models come out."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of CleanRL."""
    from .algorithms import ALGORITHMS
    from .upstream import installed

    upstream = installed()
    missing = upstream.unavailable() if upstream else {}
    notes = "".join(
        f"; not available ({', '.join(name for name in missing if missing[name] == reason)}): {reason}"
        for reason in dict.fromkeys(missing.values())
    )
    return describe_worker(
        "cleanrl",
        __version__,
        f"CleanRL's single-file algorithms, run unmodified{notes}",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/vwxyzjn/cleanrl",
        upstream_library="cleanrl",
        upstream_version=upstream.version if upstream else "",
        license="MIT",
        env_families=["gymnasium"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
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
        resume_bound={name: one.bound for name, one in ALGORITHMS.items()},
        resume_elsewhere=list(ALGORITHMS),
    )
