"""MOSAIC Lab's worker for scripts: whatever a command line starts becomes a run."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports nothing of TensorBoard."""
    try:
        upstream = metadata.version("tensorboard")
    except metadata.PackageNotFoundError:
        upstream = ""
    about = WorkerMetadata(
        name="script",
        version=__version__,
        description="Your own script, any library: its lines and TensorBoard files become metrics.",
        author="The MOSAIC Lab developers",
        upstream_library="tensorboard",
        upstream_version=upstream,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="script",
        supports_checkpointing=True,
        algorithms=["script"],
        estimated_memory_mb=60,
        modes=["train"],
    )
    return about, capabilities
