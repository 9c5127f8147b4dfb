"""The worker: its metadata and its command line, `python -m placeholder_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Every listing calls this: it imports no library."""
    return describe_worker(
        "placeholder",
        "placeholder-worker",
        # FILL IN: the name of the library's package, the kinds of spaces that it supports.
        upstream_library="placeholder-worker",
        action_spaces=["Discrete"],
        modes=["operate"],
    )


WORKER = Worker(get_worker_metadata, operate=deferred("placeholder_worker.operator:Policy"))

if __name__ == "__main__":
    sys.exit(main(WORKER))
