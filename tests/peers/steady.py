"""A well-behaved worker on the contract: reports steadily until a file appears."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_contract import Worker, main
from mosaic_contract.config import TrainingConfig
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata
from mosaic_contract.telemetry import Telemetry


def metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    return WorkerMetadata(name="steady", version="1"), WorkerCapabilities()


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    go = Path(config.hyperparameters["go"])
    for step in itertools.count():
        telemetry.metrics(step, {"value": float(step)})
        if step % 20 == 0:
            telemetry.heartbeat()  # more often than the heartbeat thread, so that tests need not wait
        if go.exists():
            break
        time.sleep(0.005)  # the pace of its reports, until the test creates the file
    return {}


if __name__ == "__main__":
    sys.exit(main(Worker(metadata, lambda config: config.to_dict(), train)))
