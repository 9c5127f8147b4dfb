"""The worker: its metadata, and `python -m export_worker.cli --export FORMAT --out FOLDER`, which reads
runs from stdin and writes the paths of their files to stdout.

Lines of stdin are JSON. An object describes a run (see `exported_run.ExportedRun`) and is followed by its
points, each an array: step, Unix time or null, values by name. A line of stdout follows each run's end:
`{"run": id, "path": file or folder}`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import IO, Any, Iterable

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.stdio import reserve_standard_streams

from .exported_run import ExportedRun, Writer

FORMATS = ("tensorboard", "wandb")


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither library."""
    return describe_worker(
        "export", "mosaic-export-worker", upstream_library="tensorboard, wandb", modes=["export"]
    )


def main() -> int:
    reserve_standard_streams()
    parser = argparse.ArgumentParser(description="Writes runs as files of another tool.")
    parser.add_argument("--export", choices=FORMATS, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library's own output goes to the log
    export(sys.stdin, arguments.export, arguments.out, answers)
    return 0


def export(lines: Iterable[str], form: str, out: Path, answers: IO[str]) -> None:
    """Write the runs in `lines`."""
    writer: Writer | None = None
    run_id = ""
    for line in lines:
        item = json.loads(line)
        if isinstance(item, dict):
            _close(writer, run_id, answers)
            run = ExportedRun(**item)
            writer, run_id = _writer(run, form, out), run.id
        elif writer is not None:
            step, timestamp, values = item
            writer.add(step, timestamp, values)
    _close(writer, run_id, answers)


def _writer(run: ExportedRun, form: str, out: Path) -> Writer:
    if form == "wandb":
        from .wandb_run import WandbRun

        return WandbRun(run, out)
    from .event_files import EventFileExporter

    return EventFileExporter(run, out)


def _close(writer: Writer | None, run_id: str, answers: IO[str]) -> None:
    if writer is not None:
        answer: dict[str, Any] = {"run": run_id, "path": str(writer.close())}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
