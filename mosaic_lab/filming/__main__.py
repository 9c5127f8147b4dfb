"""The process that makes films: ``python -m mosaic_lab.filming --config <run folder>/config.json``.

It follows a training through its run folder. Exit codes are the same as for workers: 0 completed, 1 failed,
130 and 143 cancelled.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from mosaic_contract.cli import COMPLETED, FAILED
from mosaic_contract.errors import Cancelled
from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.priority import extend_priority_to_session
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.filming.episode_recorder import NotFilmed
from mosaic_lab.filming.film_maker import FilmMaker, TrainingGone
from mosaic_lab.keeper.run_store import RunFolder

_NICENESS = 10
"""Niceness of all filming processes. If every core is busy, a film gets a tenth of one core, and its
deadlines are ten times as long (`mosaic_contract.priority`)."""


def main() -> int:
    """Make films until none remains; return the exit code."""
    reserve_standard_streams()
    parser = argparse.ArgumentParser(prog="python -m mosaic_lab.filming")
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    signals = CancelOnSignal()
    os.nice(_NICENESS)
    extend_priority_to_session()
    folder = RunFolder(path.parent)
    telemetry = Telemetry.take_stdout(folder.run_id)
    failure: BaseException | None = None
    try:
        try:
            with Heartbeats(telemetry):
                FilmMaker(folder, json.loads(path.read_bytes()), telemetry).run()
        except BaseException as error:
            failure = error
        signals.disarm()
    except Cancelled:  # the signal arrived between two of the lines above
        signals.disarm()
    if signals.cancelled is not None:
        telemetry.run_cancelled(signals.cancelled.reason)
        return signals.cancelled.exit_code
    if isinstance(failure, TrainingGone):
        telemetry.run_cancelled(str(failure))
        return COMPLETED
    if failure is None:
        telemetry.run_completed()
        return COMPLETED
    if isinstance(failure, NotFilmed):
        telemetry.run_failed(str(failure), error_type="NotFilmed")  # its traceback adds nothing
    else:
        telemetry.run_failed(failure)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
