"""The worker's metadata and command line, `python -m llm_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no SDK and loads no model."""
    return describe_worker(
        "llm",
        "mosaic-llm-worker",
        upstream_library="openai, anthropic, xllamacpp",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        modes=["operate"],
    )


WORKER = Worker(
    get_worker_metadata, operate=deferred("llm_worker.operator:LanguageOperator"), concurrent=True
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
