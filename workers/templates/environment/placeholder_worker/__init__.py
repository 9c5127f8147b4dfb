"""FILL IN: which environments it provides, in one sentence."""

from __future__ import annotations

from importlib.metadata import version

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Every listing calls this: it imports no library."""
    return describe_worker(
        "placeholder",
        version("placeholder-worker"),
        # FILL IN: what it provides, the name of the library's package, the kinds of spaces.
        "A corridor to walk to the end of.",
        upstream_library="gymnasium",
        env_families=["gymnasium"],
        action_spaces=["Discrete"],
        observation_spaces=["Box"],
        modes=["arena"],
    )
