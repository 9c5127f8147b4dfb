"""The worker's metadata and command line, `python -m policy_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no user code."""
    return describe_worker(
        "policy",
        "mosaic-policy-worker",
        upstream_library="numpy",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        modes=["operate"],
    )


WORKER = Worker(get_worker_metadata, operate=deferred("policy_worker.operator:PolicyOperator"))

if __name__ == "__main__":
    sys.exit(main(WORKER))
