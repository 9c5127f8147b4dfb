"""An evaluation's process: ``python -m mosaic_lab.evaluation --config <run folder>/config.json``.

It skips the episodes already in the run folder's telemetry. See `runs.run_process`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import ConfigurationError
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
from mosaic_lab.evaluation.pool import Pool
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.runs.run_process import Runner, run_to_end


class EvaluationRunner(Runner):
    """Plays the remaining episodes of the evaluation in ``folder``."""

    def __init__(self, folder: RunFolder, telemetry: Telemetry) -> None:
        self._folder = folder
        self._telemetry = telemetry

    def run(self) -> None:
        folder, telemetry = self._folder, self._telemetry
        if damaged := repair(folder.telemetry_path):
            name = folder.telemetry_path.name
            print(f"{lines_text(damaged)} of {name} dropped: they are damaged", file=sys.stderr)
        plan = EvaluationPlan.from_config(json.loads(folder.config_path.read_bytes()))
        recorded = EpisodeLog(folder.telemetry_path).read()
        telemetry.episodes = len(recorded)
        telemetry.total_reward = sum(
            record["return"] for record in recorded.values() if record["status"] == "ok"
        )
        telemetry.advance(sum(record["steps"] for record in recorded.values()))
        telemetry.run_started(
            worker_type=WORKER,
            algo=", ".join(plan.lanes_by_operator),
            env_id=plan.env_id,
            seed=None,
            config={"episodes": len(plan.jobs()), "done": len(recorded)},
        )
        with Heartbeats(telemetry):
            work = _work(plan, folder, telemetry, recorded)
            try:
                with suppress(NotRecorded):  # check_complete below reports it
                    work.run()
            finally:
                work.close()
        check_complete(plan, folder.telemetry_path)


def _work(
    plan: EvaluationPlan, folder: RunFolder, telemetry: Telemetry, recorded: Mapping[Key, Record]
) -> Pool | FanOut:
    """Return the executor of the remaining episodes: a `Pool` on this machine, or a `FanOut` on a cluster."""
    if plan.request.on is not None:
        return FanOut(plan, folder.path, telemetry, recorded)
    if not plan.arena:  # a part, on a cluster node
        if why := changed(plan):
            raise ConfigurationError(why)
        plan = equipped(plan, partial(print, flush=True))
    variables = compose_variables(os.environ, env_vars=plan.env_vars, pass_env_vars=plan.pass_env_vars)
    several = plan.parallel > 1  # arenas, which share one import of a library
    warm = WARM_WORKERS if several and folder.document(folder.launch_path).get("warm") else None
    return Pool(plan, folder.path, variables, telemetry, settled(plan, recorded), warm)


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.evaluation", EvaluationRunner, sealed=True))
