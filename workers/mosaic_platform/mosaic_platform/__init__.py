"""The adapter for workers of the MOSAIC platform: see `introduction` for what it finds out about one."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the metadata of the platform's worker in this environment, in MOSAIC Lab's terms."""
    from .introduction import introduction

    found = introduction()
    return WorkerMetadata.from_dict(found.metadata), WorkerCapabilities.from_dict(found.capabilities)
