"""A sweep's process: ``python -m mosaic_lab.sweeps --config <run folder>/config.json``.

It continues from the trial log in the run folder. See `runs.run_process`.
"""

from __future__ import annotations

import json
import sys

from mosaic_contract.telemetry import Telemetry

from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.run_process import run_to_end
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.runner import SegmentedTrials, SweepRunner, WholeTrials
from mosaic_lab.sweeps.sweep import WORKER
from mosaic_lab.sweeps.trials import TrialWriter


def begin(folder: RunFolder, telemetry: Telemetry) -> SweepRunner:
    """Return the runner of the sweep in ``folder``. Raises ConfigurationError."""
    config = json.loads(folder.config_path.read_bytes())
    plan = SweepPlan.from_config(config)
    log = TrialWriter(folder.path)
    telemetry.run_started(
        worker_type=WORKER,
        algo=str(config.get("algorithm", "")),
        env_id=str(config.get("env_id", "")),
        seed=plan.request.seed,
        config={
            "trials": plan.request.trials,
            "sampler": plan.request.sampler,
            "pruner": plan.request.chosen_pruner,
        },
    )
    launch = folder.document(folder.launch_path)
    supervisor = Supervisor(folder.path.parent, launch.get("max_running"), warm=launch.get("warm", False))
    runner_class = SegmentedTrials if plan.stops else WholeTrials
    return runner_class(plan, folder.run_id, supervisor, log, telemetry)


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.sweeps", begin))
