"""A hand-written worker that provides an environment. STAGE_MISBEHAVES lists its defects."""

import os

from mosaic_contract import WorkerCapabilities, WorkerMetadata

WRONG = os.environ.get("STAGE_MISBEHAVES", "").split(", ")


def get_worker_metadata():
    about = WorkerMetadata("stage", "1.0", upstream_library="none")
    return about, WorkerCapabilities(modes=["arena"])
