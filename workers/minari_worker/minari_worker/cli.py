"""The worker: its metadata, and `python -m minari_worker.cli --dataset`, which reads a request from stdin,
writes a dataset, and reports it on stdout.

The request is one JSON object (see `writing.DatasetRequest`), the answer another: `{"path", "episodes",
"steps"}`. The exit code is 2 if a recording cannot be read or the dataset cannot be written; the last line of
stderr is the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.stdio import reserve_standard_streams


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Does not import Minari."""
    return describe_worker("minari", "mosaic-minari-worker", upstream_library="minari", modes=["dataset"])


def main() -> int:
    reserve_standard_streams()
    parser = argparse.ArgumentParser(description="Writes recorded episodes as a Minari dataset.")
    parser.add_argument("--dataset", action="store_true", required=True)
    parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library's own output goes to the log
    from .writing import DatasetRequest, write_dataset

    try:
        answer = write_dataset(DatasetRequest(**json.load(sys.stdin)))
    except (OSError, ValueError, KeyError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
