"""A worker that trains, acts and renders instantly."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata


def get_worker_metadata():
    about = WorkerMetadata("cinema", "0.1", description="Trains, acts and draws in an instant.")
    modes = ["train", "operate", "arena"]
    return about, WorkerCapabilities(algorithms=["habit"], modes=modes, resume_bound={"habit": {}})
