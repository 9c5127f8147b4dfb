"""A worker for the tests of the conformance suite. The variable PEER_MISBEHAVES lists what it does wrong."""

import os

from mosaic_contract import WorkerCapabilities, WorkerMetadata

WRONG = os.environ.get("PEER_MISBEHAVES", "").split(", ")


def get_worker_metadata():
    if "imports upstream" in WRONG:
        import peer_upstream  # noqa: F401
    about = WorkerMetadata("peer", "1.0", upstream_library="peer-upstream")
    return about, WorkerCapabilities(algorithms=["walk"])
