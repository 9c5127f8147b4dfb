"""The worker: its metadata and its command line, `python -m ray_worker.cli`."""

from __future__ import annotations

import logging
import os

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import describe_algorithms

from .algorithms import ALGORITHMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    return describe_worker(
        "rllib",
        "mosaic-ray-worker",
        upstream_library="ray",
        supported_paradigms=["single_agent", "parallel", "aec"],
        env_families=["gymnasium", "mpe2", "pettingzoo"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        modes=["train", "operate", "arena"],
        acts_in_batches=True,
        uses_environment_servers=True,
        **describe_algorithms(ALGORITHMS),
    )


_PROCESS_VARIABLES = {
    "OMP_NUM_THREADS": "1",  # two threads on busy cores slow DQN and SAC down severely
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_NO_SIGNAL_HANDLERS": "1",  # SDL would swallow SIGTERM
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics are sent
    "RAY_DEDUP_LOGS": "0",
    "RAY_worker_niceness": "0",  # with Ray's 15, runners get hardly any processor time on a busy machine
}

WORKER = Worker(
    get_worker_metadata,
    deferred("ray_worker.config:RllibPlan.of"),
    deferred("ray_worker.runtime:train"),
    deferred("ray_worker.hyperparameters:all_hyperparameters"),
    operate=deferred("ray_worker.operator:operate"),
    make_environment=deferred("ray_worker.environments:make"),
    wraps=True,
)

if __name__ == "__main__":
    for name, value in _PROCESS_VARIABLES.items():
        os.environ.setdefault(name, value)
    code = main(WORKER)
    logging.shutdown()
    # A thread may still be in a call of Ray, which would block the interpreter's shutdown.
    os._exit(code)
