"""An environment of several agents, and policies of several agents in one file."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("team", "0.1", description="Several agents' policies in one file.")
    return about, WorkerCapabilities(modes=["arena", "operate"])
