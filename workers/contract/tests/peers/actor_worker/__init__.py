"""A hand-written worker with operators only. ACTOR_MISBEHAVES lists its defects."""

import os

from mosaic_contract import WorkerCapabilities, WorkerMetadata

WRONG = os.environ.get("ACTOR_MISBEHAVES", "").split(", ")


def get_worker_metadata():
    modes = [] if "is good for nothing" in WRONG else ["operate"]
    kinds = ["discrete", "continuous", "MultiDiscrete"]
    about = WorkerMetadata("actor", "1.0", upstream_library="none")
    return about, WorkerCapabilities(action_spaces=kinds, modes=modes)
