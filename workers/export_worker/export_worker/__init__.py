"""MOSAIC Lab's exports: runs as files of TensorBoard and of Weights & Biases."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither library."""
    return describe_worker(
        "export",
        __version__,
        "Exports: runs as files of TensorBoard and of Weights & Biases",
        author="The MOSAIC Lab developers",
        upstream_library="tensorboard, wandb",
        license="MIT",
        estimated_memory_mb=150,
        modes=["export"],
    )
