"""MOSAIC Lab's worker for scripts: whatever a command line starts becomes a run."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of TensorBoard."""
    return describe_worker(
        "script",
        __version__,
        "Your own script, any library: its lines and TensorBoard files become metrics.",
        author="The MOSAIC Lab developers",
        upstream_library="tensorboard",
        license="MIT",
        supports_checkpointing=True,
        algorithms=["script"],
        estimated_memory_mb=60,
        modes=["train"],
    )
