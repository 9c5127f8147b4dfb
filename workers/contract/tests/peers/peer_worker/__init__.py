"""A training worker for the tests of the conformance suite. PEER_MISBEHAVES lists its defects."""

import os

from mosaic_contract import WorkerCapabilities, WorkerMetadata

WRONG = os.environ.get("PEER_MISBEHAVES", "").split(", ")


def get_worker_metadata():
    if "imports upstream" in WRONG:
        import peer_upstream  # noqa: F401
    about = WorkerMetadata("peer", "1.0", upstream_library="peer-upstream")
    return about, WorkerCapabilities(algorithms=["walk"])
