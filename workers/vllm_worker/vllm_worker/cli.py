"""The worker: its metadata, and `python -m vllm_worker.cli --serve …`, which becomes `vllm serve …`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import vLLM."""
    return describe_worker("vllm", "mosaic-vllm-worker", upstream_library="vllm", modes=["serve"])


def main() -> None:
    program = str(Path(sys.executable).with_name("vllm"))
    os.execv(program, [program, "serve", *sys.argv[2:]])


if __name__ == "__main__":
    main()
