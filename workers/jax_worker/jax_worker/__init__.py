"""MOSAIC Lab's environments of gymnax and Craftax."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the environments."""
    return describe_worker(
        "jax",
        __version__,
        "Environments in JAX: gymnax (classic control, MinAtar, bsuite, …) and Craftax",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/RobertTLange/gymnax",
        upstream_library="gymnax",
        license="MIT",
        env_families=["gymnax", "craftax"],
        action_spaces=["Discrete", "Box"],
        observation_spaces=["Box", "Discrete"],
        modes=["arena"],
    )
