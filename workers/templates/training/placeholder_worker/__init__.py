"""FILL IN: what the worker trains, in one sentence."""

from __future__ import annotations

from importlib.metadata import version

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

from .algorithms import ALGORITHMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Every listing calls this: it imports no library."""
    return describe_worker(
        "placeholder",
        version("placeholder-worker"),
        # FILL IN: what it trains, the name of the library's package, what its algorithms can handle.
        "Random search for a linear policy.",
        upstream_library="gymnasium",
        env_families=["gymnasium"],
        action_spaces=["Discrete"],
        observation_spaces=["Box"],
        supports_checkpointing=True,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate"],
    )
