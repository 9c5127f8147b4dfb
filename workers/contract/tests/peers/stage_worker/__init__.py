"""A worker that holds an environment, written by hand. STAGE_MISBEHAVES lists what it does wrong."""

import os

from mosaic_contract import WorkerCapabilities, WorkerMetadata

WRONG = os.environ.get("STAGE_MISBEHAVES", "").split(", ")


def get_worker_metadata():
    about = WorkerMetadata("stage", "1.0", upstream_library="none")
    return about, WorkerCapabilities(modes=["arena"])
