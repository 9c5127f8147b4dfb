"""The worker's metadata and command line, `python -m openspiel_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "openspiel",
        "mosaic-openspiel-worker",
        upstream_library="open-spiel",
        supported_paradigms=["aec"],
        env_families=["openspiel"],
        modes=["arena"],
    )


WORKER = Worker(
    get_worker_metadata,
    make_environment=deferred("openspiel_worker.games:make"),
    environment_facts=deferred("openspiel_worker.games:facts_of"),
    environments=deferred("openspiel_worker.games:known"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
