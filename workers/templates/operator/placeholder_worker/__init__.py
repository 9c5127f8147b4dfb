"""FILL IN: how the operator acts, in one sentence."""

from __future__ import annotations

from importlib.metadata import version

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Every listing calls this: it imports no library."""
    return describe_worker(
        "placeholder",
        version("placeholder-worker"),
        # FILL IN: how it acts, the name of the library's package, the kinds of spaces that it can act in.
        "Repeats a legal action for a while, then takes another.",
        upstream_library="placeholder-worker",
        action_spaces=["Discrete"],
        modes=["operate"],
    )
