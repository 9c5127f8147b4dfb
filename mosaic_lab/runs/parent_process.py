"""The process of a run that starts other runs, such as a sweep or a curriculum. These outlive it.

Its stdout is the run's telemetry. Its exit codes are as for workers: 0 completed, 1 failed, 2 bad
configuration, 130 and 143 cancelled. A signal from its keeper stops the runs it has started. If the keeper no
longer exists, they continue and the process can be resumed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from mosaic_contract.cli import BAD_CONFIGURATION, COMPLETED, FAILED
from mosaic_contract.errors import Cancelled
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.run_store import RunFolder

GRACE_SECONDS = 10.0
"""Seconds for such a process to record the ends of its runs, in addition to their own time to stop."""


class ParentRunner(Protocol):
    """Starts runs and follows them."""

    def run(self) -> None:
        """Return when all runs are done."""

    def stop(self, deadline: float) -> None:
        """Stop the runs and record their ends by the monotonic time ``deadline``."""


def run_to_end(
    program: str,
    begin: Callable[[RunFolder, Telemetry], ParentRunner],
    given_up: type[Exception],
    error_type: str,
) -> int:
    """Run the result of ``begin``, called with the folder named on the command line, and return the exit
    code.

    The command is ``python -m <program> --config <run folder>/config.json``. An exception of type
    ``given_up`` contains the reason as a sentence and is reported as ``error_type``. Any other exception is a
    fault, reported with its traceback.
    """
    reserve_standard_streams()
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    keeper = os.getppid()
    signals = CancelOnSignal()
    folder = RunFolder(path.parent)
    telemetry = Telemetry.take_stdout(folder.run_id)
    runner: ParentRunner | None = None
    failure: BaseException | None = None
    try:
        try:
            runner = begin(folder, telemetry)
            runner.run()
        except BaseException as error:
            failure = error
        signals.disarm()
    except Cancelled:  # the signal arrived between two lines above
        signals.disarm()
    if signals.cancelled is not None:
        if runner is not None and os.getppid() == keeper:
            grace = folder.document(folder.launch_path).get("grace_seconds", 0.0)
            runner.stop(time.monotonic() + max(0.0, grace - GRACE_SECONDS))
        telemetry.run_cancelled(signals.cancelled.reason)
        return signals.cancelled.exit_code
    if failure is None:
        telemetry.run_completed()
        return COMPLETED
    if isinstance(failure, given_up):
        telemetry.run_failed(str(failure), error_type=error_type)
        return FAILED
    telemetry.run_failed(failure)
    return BAD_CONFIGURATION if isinstance(failure, ConfigurationError) else FAILED
