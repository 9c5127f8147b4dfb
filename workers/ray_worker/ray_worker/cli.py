"""The worker: its metadata and its command line, `python -m ray_worker.cli`."""

import logging
import os

from mosaic_contract import deferred, main
from mosaic_contract.worker import training_worker

from .algorithms import ALGORITHMS

_PROCESS_VARIABLES = {
    "OMP_NUM_THREADS": "1",  # two threads on busy cores slow DQN and SAC down severely
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics are sent
    "RAY_DEDUP_LOGS": "0",
    "RAY_worker_niceness": "0",  # with Ray's 15, runners get hardly any processor time on a busy machine
}

WORKER = training_worker(
    "rllib",
    "ray_worker.config:RllibPlan",
    ALGORITHMS,
    make_environment=deferred("ray_worker.environments:make"),
    upstream_library="ray",
    supported_paradigms=["single_agent", "parallel", "aec"],
    env_families=["gymnasium", "mpe2", "pettingzoo"],
    action_spaces=["discrete", "continuous"],
    observation_spaces=["vector", "image"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    for name, value in _PROCESS_VARIABLES.items():
        os.environ.setdefault(name, value)
    code = main(WORKER)
    logging.shutdown()
    # A thread may still be in a call of Ray, which would block the interpreter's shutdown.
    os._exit(code)
