"""The process of a run that this package carries out itself: an evaluation, sweep, curriculum or film.

Its command is ``python -m <package> --config <run folder>/config.json`` and its stdout is the run's
telemetry. Its exit codes are those of workers: 0 completed, 1 failed, 2 bad configuration, 130 and 143
cancelled.

The runs that a sweep or a curriculum starts outlive its process. A signal from its keeper stops them. If the
keeper no longer exists, they continue and the process can be resumed.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from mosaic_contract.cli import BAD_CONFIGURATION, COMPLETED, FAILED
from mosaic_contract.errors import one_line
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.warm_workers import WARM_WORKERS

logger = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
"""Seconds for such a process to record the ends of its runs, in addition to their own time to stop."""


class RunAborted(Exception):
    """Raised when a run has failed for a reason that one sentence explains. It is reported without a
    traceback."""

    error_type = ""
    """The error type of the run's terminal event; `keeper.outcome` knows it."""
    refused = False
    """Whether the configuration itself is the reason."""


class RunCurtailed(Exception):
    """Raised when a run has ended early without a failure. It counts as cancelled, with exit code 0."""

    results: ClassVar[Mapping[str, Any]] = {}
    """The partial results in the run's terminal event."""


class Runner:
    """The work of a run's process."""

    def run(self) -> None:
        """Return when the work is done. Raises RunAborted and RunCurtailed."""
        raise NotImplementedError

    def stop(self, deadline: float) -> None:
        """Stop the runs that outlive this process, if any, and record their ends by the monotonic time
        ``deadline``.
        """


def run_to_end(program: str, begin: Callable[[RunFolder, Telemetry], Runner], *, sealed: bool = False) -> int:
    """Run the result of ``begin``, called with the folder named on the command line, and return the exit
    code. ``sealed``: whether each line of the telemetry has a checksum.

    Any exception but `RunAborted` and `RunCurtailed` is a fault, reported with its traceback.
    """
    reserve_standard_streams()
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    keeper = os.getppid()
    signals = CancelOnSignal()
    folder = RunFolder(path.parent)
    telemetry = Telemetry.take_stdout(folder.run_id, sealed=sealed)
    runner: Runner | None = None

    def work() -> None:
        nonlocal runner
        runner = begin(folder, telemetry)
        runner.run()

    failure = signals.run(work)
    WARM_WORKERS.close()
    if signals.cancelled is not None:
        if runner is not None and os.getppid() == keeper:
            grace = folder.document(folder.launch_path).get("grace_seconds", 0.0)
            runner.stop(time.monotonic() + max(0.0, grace - GRACE_SECONDS))
        telemetry.run_cancelled(signals.cancelled.reason)
        return signals.cancelled.exit_code
    return _report(failure, telemetry)


def _report(failure: BaseException | None, telemetry: Telemetry) -> int:
    """Write the terminal event of a run that was not stopped; return its exit code."""
    if failure is None:
        telemetry.run_completed()
        return COMPLETED
    if isinstance(failure, RunCurtailed):
        telemetry.run_cancelled(str(failure), failure.results)
        return COMPLETED
    if isinstance(failure, RunAborted):
        message, refused = str(failure), failure.refused
        telemetry.run_failed(message, error_type=failure.error_type)
    else:
        message, refused = one_line(failure), isinstance(failure, ConfigurationError)
        telemetry.run_failed(failure)
    if telemetry.dropped_lines:  # because of a quota, for example
        logger.error("the run failed: %s", message)
    return BAD_CONFIGURATION if refused else FAILED
