"""Walks along a corridor."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("walks", "0.1", description="Walks along a corridor.")
    return about, WorkerCapabilities(modes=["arena"])
