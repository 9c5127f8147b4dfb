"""An evaluation's process: ``python -m mosaic_lab.evaluation --config <run folder>/config.json``.

The process skips the episodes already in the run folder's telemetry. Stdout is that telemetry. Exit codes
follow those of workers: 0 completed, 1 failed, 2 bad configuration, 130 and 143 cancelled.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from mosaic_contract.cli import BAD_CONFIGURATION, COMPLETED, FAILED
from mosaic_contract.errors import Cancelled
from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.budgets import BUDGET_SPENT
from mosaic_lab.evaluation.episode_log import (
    EpisodeLog,
    NotRecorded,
    Record,
    check_complete,
    lines_text,
    repair,
    settled,
)
from mosaic_lab.evaluation.evaluation import WORKER
from mosaic_lab.evaluation.fan_out import FanOut
from mosaic_lab.evaluation.fingerprints import changed
from mosaic_lab.evaluation.launch import equipped
from mosaic_lab.evaluation.plan import EvaluationPlan, Key
from mosaic_lab.evaluation.pool import EvaluationAborted, Pool, Spent
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.run_store import RunFolder


def main() -> int:
    """Play all remaining episodes and return the exit code."""
    reserve_standard_streams()
    parser = argparse.ArgumentParser(prog="python -m mosaic_lab.evaluation")
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    signals = CancelOnSignal()
    folder = RunFolder(path.parent)
    telemetry = Telemetry.take_stdout(folder.run_id, sealed=True)
    failure: BaseException | None = None
    try:
        try:
            _evaluate(folder, json.loads(path.read_bytes()), telemetry)
        except BaseException as error:
            failure = error
        signals.disarm()
    except Cancelled:  # the signal arrived outside the inner handler
        signals.disarm()
    if signals.cancelled is not None:
        telemetry.run_cancelled(signals.cancelled.reason)
        return signals.cancelled.exit_code
    if isinstance(failure, Spent):
        telemetry.run_cancelled(
            f"{failure}; resume(budget=…) continues with a larger one", {BUDGET_SPENT: True}
        )
        return COMPLETED
    if failure is None:
        telemetry.run_completed()
        return COMPLETED
    if isinstance(failure, EvaluationAborted):
        telemetry.run_failed(str(failure), error_type="ConfigError" if failure.refused else "EpisodeFailed")
        return BAD_CONFIGURATION if failure.refused else FAILED
    if isinstance(failure, NotRecorded):
        telemetry.run_failed(str(failure), error_type="NotRecorded")
    else:
        telemetry.run_failed(failure)
    return FAILED


def _evaluate(folder: RunFolder, config: dict[str, Any], telemetry: Telemetry) -> None:
    if damaged := repair(folder.telemetry_path):
        text = f"{lines_text(damaged)} of {folder.telemetry_path.name} dropped: not what was written there"
        print(text, file=sys.stderr)
    plan = EvaluationPlan.from_config(config)
    recorded = EpisodeLog(folder.telemetry_path).read()
    telemetry.episodes = len(recorded)
    telemetry.total_reward = sum(one["return"] for one in recorded.values() if one["status"] == "ok")
    telemetry.advance(sum(record["steps"] for record in recorded.values()))
    telemetry.run_started(
        worker_type=WORKER,
        algo=", ".join(plan.lanes),
        env_id=plan.env_id,
        seed=None,
        config={"episodes": len(plan.jobs()), "done": len(recorded)},
    )
    with Heartbeats(telemetry):
        work = _work(plan, folder.path, telemetry, recorded)
        try:
            with suppress(NotRecorded):  # check_complete below reports it
                work.run()
        finally:
            work.close()
    check_complete(plan, folder.telemetry_path)


def _work(
    plan: EvaluationPlan, folder: Path, telemetry: Telemetry, recorded: Mapping[Key, Record]
) -> Pool | FanOut:
    """Return the executor of the remaining episodes: a `Pool` on this machine, or a `FanOut` on a cluster."""
    if plan.on is not None:
        return FanOut(plan, folder, telemetry, recorded)
    if not plan.arena:  # a part, on a cluster node
        if why := changed(plan):
            raise ConfigurationError(why)
        plan = equipped(plan, partial(print, flush=True))
    variables = compose_variables(os.environ, environ=plan.environ, pass_env=plan.pass_env)
    return Pool(plan, folder, variables, telemetry, settled(plan, recorded))


if __name__ == "__main__":
    sys.exit(main())
