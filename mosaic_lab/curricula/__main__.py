"""A curriculum's process: ``python -m mosaic_lab.curricula --config <run folder>/config.json``.

It goes on after the stages that the folder records already. Stdout is the run's telemetry; exit codes are
those of workers: 0 completed, 1 failed, 2 bad configuration, 130 and 143 cancelled. A signal of its keeper
stops the stage that is training; where the keeper is gone, it goes on and the curriculum can be resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from mosaic_contract.cli import BAD_CONFIGURATION, COMPLETED, FAILED
from mosaic_contract.errors import Cancelled
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.curricula.runner import Runner, StageFailed
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.curriculum_plan import GRACE_SECONDS, CurriculumPlan


def main() -> int:
    """Train all stages; returns the exit code."""
    reserve_standard_streams()
    parser = argparse.ArgumentParser(prog="python -m mosaic_lab.curricula")
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    keeper = os.getppid()
    signals = CancelOnSignal()
    folder = RunFolder(path.parent)
    telemetry = Telemetry.take_stdout(folder.run_id)
    runner: Runner | None = None
    failure: BaseException | None = None
    try:
        try:
            runner = _runner(folder, telemetry)
            runner.run()
        except BaseException as error:
            failure = error
        signals.disarm()
    except Cancelled:  # the signal came between two lines of the above
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
    if isinstance(failure, StageFailed):
        telemetry.run_failed(str(failure), error_type="StageFailed")
        return FAILED
    telemetry.run_failed(failure)
    return BAD_CONFIGURATION if isinstance(failure, ConfigurationError) else FAILED


def _runner(folder: RunFolder, telemetry: Telemetry) -> Runner:
    config = json.loads(folder.config_path.read_bytes())
    plan = CurriculumPlan.from_config(config)
    telemetry.run_started(
        worker_type=plan.plans[0].worker,
        algo=str(config.get("algorithm", "")),
        env_id=str(config.get("env_id", "")),
        seed=config["seed"],
        config={"curriculum": config["curriculum"], "hyperparameters": config["hyperparameters"]},
    )
    launch = folder.document(folder.launch_path)
    supervisor = Supervisor(folder.path.parent, launch.get("max_running"))
    return Runner(plan, folder, config["seed"], supervisor, telemetry, list(config["pass_env"]))


if __name__ == "__main__":
    sys.exit(main())
