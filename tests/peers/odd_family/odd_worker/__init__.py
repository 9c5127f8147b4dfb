"""Environments and operators that misbehave as they are told."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("odd", "0.1", description="Misbehaves as it is told.")
    return about, WorkerCapabilities(worker_type="odd", modes=["arena", "operate"])
