"""A curriculum's process: ``python -m mosaic_lab.curricula --config <run folder>/config.json``.

It continues after the stages already recorded in the folder. See `runs.run_process`.
"""

from __future__ import annotations

import json
import sys

from mosaic_contract.telemetry import Telemetry

from mosaic_lab.curricula.runner import CurriculumRunner
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.curriculum_plan import CurriculumPlan
from mosaic_lab.runs.run_process import run_to_end


def begin(folder: RunFolder, telemetry: Telemetry) -> CurriculumRunner:
    """Return the runner of the curriculum in ``folder``. Raises ConfigurationError."""
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
    supervisor = Supervisor(folder.path.parent, launch.get("max_running"), warm=launch.get("warm", False))
    return CurriculumRunner(plan, folder, config["seed"], supervisor, telemetry)


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.curricula", begin))
