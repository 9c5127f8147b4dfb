"""Gymnasium's CartPole for two agents."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("carts", "0.1", description="CartPole for two.")
    return about, WorkerCapabilities(modes=["arena"])
