"""The worker: its metadata and its command line, `python -m sb3_worker.cli`."""

import sys

from mosaic_contract import main
from mosaic_contract.arena import make_gymnasium
from mosaic_contract.worker import training_worker

from .algorithms import ALGORITHMS

WORKER = training_worker(
    "sb3",
    "sb3_worker.config:Sb3Plan",
    ALGORITHMS,
    make_environment=make_gymnasium,
    preload=["sb3_worker.runtime"],
    upstream_library="stable-baselines3, sb3-contrib",
    env_families=["gymnasium"],
    action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary"],
    observation_spaces=["vector", "image", "dict"],
    steps_together=True,
    records_observations=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
