"""Environments and operators that misbehave as configured."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("odd", "0.1", description="Misbehaves as its settings say.")
    return about, WorkerCapabilities(modes=["arena", "operate"], acts_in_batches=True)
