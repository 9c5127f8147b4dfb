"""The worker: its metadata and its command line, `python -m jumanji_worker.cli`."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from mosaic_contract import Worker, WorkerCapabilities, WorkerMetadata, deferred, describe_worker, main
from mosaic_contract.metadata import describe_algorithms

_CACHE_BYTES = 1 << 30
_MIN_CACHED_SECONDS = 0.3  # minimum compile time in seconds of a cached program


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .hyperparameters import ALGORITHMS

    return describe_worker(
        "jumanji",
        "mosaic-jumanji-worker",
        upstream_library="jumanji",
        env_families=["jumanji"],
        action_spaces=["discrete", "multidiscrete"],
        observation_spaces=["dict"],
        modes=["train", "operate", "arena"],
        acts_in_batches=True,
        **describe_algorithms(ALGORITHMS),
    )


WORKER = Worker(
    get_worker_metadata,
    deferred("jumanji_worker.config:JumanjiPlan.of"),
    deferred("jumanji_worker.runtime:train"),
    deferred("jumanji_worker.hyperparameters:all_hyperparameters"),
    operate=deferred("jumanji_worker.operator:operate"),
    make_environment=deferred("jumanji_worker.arena_environment:ArenaEnvironment"),
    environment_facts=deferred("jumanji_worker.arena_environment:facts_of"),
    environments=deferred("jumanji_worker.environments:known"),
)


def prepare() -> None:
    """Set environment variables that JAX reads on import, unless they are already set: threads, and a cache
    of compiled programs.

    The cache is in the worker's own Python environment: all runs share it, it is removed with the
    environment, and its least recently used entries are deleted when it grows too large.
    """
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    defaults = {
        "JAX_COMPILATION_CACHE_DIR": str(Path(sys.prefix, "jax-cache")),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(_CACHE_BYTES),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(_MIN_CACHED_SECONDS),
        "NPROC": threads,  # XLA starts as many threads
        "PJRT_NPROC": threads,  # the same in later versions
        "TF_CPP_MIN_LOG_LEVEL": "3",  # avoids pages of processor features for every program from the cache
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'false' if threads == '1' else 'true'}",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    logging.getLogger("jax").setLevel(logging.WARNING)  # it lists missing accelerators


if __name__ == "__main__":
    prepare()
    code = main(WORKER)
    logging.shutdown()
    # A thread may be in XLA's compiler, and the interpreter's shutdown would crash it.
    os._exit(code)
