"""Log rows of metrics with a logger and read one metric back, in a separate process.

``python loggers.py LOGGER ROWS FOLDER`` prints, as JSON, the seconds to start, to log and to read, and the
bytes written. Weights & Biases cannot read without its server.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

METRIC = "charts/episodic_return"


class Logger(NamedTuple):
    log: Callable[[int, Mapping[str, float]], Any]
    finish: Callable[[], Any]
    read: Callable[[], int] | None = None
    """Read the metric's values into memory; return their number."""
    reads_with: Sequence[str] = ()
    """Modules that a notebook has already imported when it reads."""


def mosaic(folder: Path) -> Logger:
    from mosaic_contract.telemetry import Telemetry

    descriptor = os.open(folder / "telemetry.jsonl", os.O_CREAT | os.O_WRONLY)
    telemetry = Telemetry("run", descriptor)

    def read() -> int:
        from mosaic_lab.telemetry import metrics_table
        from mosaic_lab.telemetry.column_cache import ColumnCache
        from mosaic_lab.telemetry.columns import RunColumns

        columns = RunColumns(folder, ColumnCache(folder / "cache"))
        while columns.read(lambda: True):
            pass
        return len(metrics_table(columns, METRIC))

    return Logger(telemetry.metrics, lambda: os.close(descriptor), read, ("mosaic_lab.telemetry", "pandas"))


def tensorboard(folder: Path) -> Logger:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))

    def log(step: int, row: Mapping[str, float]) -> None:
        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        writer.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=values)))

    def read() -> int:
        events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        return len(events.Reload().Scalars(METRIC))

    return Logger(log, writer.close, read)


def wandb(folder: Path) -> Logger:
    import wandb

    settings = wandb.Settings(console="off", silent=True)
    run = wandb.init(mode="offline", project="benchmark", dir=str(folder), settings=settings)
    return Logger(lambda step, row: run.log(dict(row), step=step), run.finish)


def trackio(folder: Path) -> Logger:
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio

    trackio.init(project="benchmark", name="run")

    def read() -> int:
        return len([row[METRIC] for row in trackio.SQLiteStorage.get_logs("benchmark", "run")])

    return Logger(lambda step, row: trackio.log(dict(row), step=step), trackio.finish, read)


def main(name: str, rows: int, folder: Path) -> dict[str, float | None]:
    moments = [time.perf_counter()]
    logger: Logger = globals()[name](folder)
    moments.append(time.perf_counter())
    for step in range(rows):
        value = math.sin(step / 1e3)
        losses = {"losses/value_loss": value, "losses/policy_loss": value / 2}
        logger.log(step, {**losses, "charts/SPS": 1000.0, METRIC: value})
    logger.finish()
    moments.append(time.perf_counter())
    for module in logger.reads_with:
        import_module(module)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    start, log = (after - before for before, after in pairwise(moments))
    began = time.perf_counter()
    read = None
    if logger.read is not None:
        assert logger.read() == rows
        read = time.perf_counter() - began
    return {"start": start, "log": log, "read": read, "bytes": size}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
