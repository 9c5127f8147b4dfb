"""The worker's metadata and command line, `python -m text_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of the games."""
    return describe_worker(
        "text",
        "mosaic-text-worker",
        upstream_library="textarena",
        supported_paradigms=["aec"],
        env_families=["textarena"],
        action_spaces=["Text"],
        observation_spaces=["Text"],
        modes=["arena"],
    )


WORKER = Worker(
    get_worker_metadata,
    make_environment=deferred("text_worker.games:make"),
    environment_facts=deferred("text_worker.games:facts_of"),
    environments=deferred("text_worker.games:known"),
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
