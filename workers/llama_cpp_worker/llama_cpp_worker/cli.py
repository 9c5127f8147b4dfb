"""The worker: its metadata, and `python -m llama_cpp_worker.cli --serve …`, which takes options of
`llama-server` and serves a model until it is ended."""

from __future__ import annotations

import sys

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import llama.cpp."""
    return describe_worker(
        "llama.cpp", "mosaic-llama-cpp-worker", upstream_library="xllamacpp", modes=["serve"]
    )


def main() -> int:
    from .server import parse, serve

    return serve(parse(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
