"""MOSAIC Lab's team games of mosaic-multigrid."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Which environments these are. Imports none of them."""
    about = WorkerMetadata(
        name="multigrid",
        version=__version__,
        description="The team games of mosaic-multigrid: soccer, basketball, football, collect",
        author="The MOSAIC Lab developers",
        homepage="https://pypi.org/project/mosaic-multigrid",
        upstream_library="mosaic-multigrid",
        upstream_version=_installed("mosaic-multigrid"),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="multigrid",
        supported_paradigms=["parallel"],
        env_families=["mosaic-multigrid"],
        max_agents=8,
        modes=["arena"],
    )
    return about, capabilities


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
