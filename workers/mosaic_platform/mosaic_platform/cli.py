"""The adapter: its metadata, taken from the platform's worker, and its command line, `python -m
mosaic_platform.cli`.

An operator replaces this process by the platform's, which speaks the plain protocol.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, main

from .command import command
from .introduction import introduction


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the metadata of the platform's worker in this environment, in MOSAIC Lab's terms."""
    worker = introduction()
    return WorkerMetadata.from_dict(worker.metadata), WorkerCapabilities.from_dict(worker.capabilities)


WORKER = Worker(
    get_worker_metadata,
    resolve=deferred("mosaic_platform.training:resolve"),
    train=deferred("mosaic_platform.training:train"),
    optional=("algorithm", "total_timesteps"),
    make_environment=deferred("mosaic_platform.own_environment:make"),
)


def become_operator(arguments: list[str]) -> NoReturn:
    """Replace this process by the worker, run with these arguments."""
    worker = introduction()
    options = {} if "--run-id" in arguments else {"run-id": worker.name}
    words = command(worker, options, *arguments)
    os.execv(words[0], words)


if __name__ == "__main__":
    if {"--interactive", "--help"} & set(sys.argv):
        become_operator(sys.argv[1:])
    sys.exit(main(WORKER))
