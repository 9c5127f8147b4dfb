"""Environment variables that JAX reads when it is imported: threads, and a cache of compiled programs.

The cache is in the worker's own environment: every run shares it, it is removed with the environment, and
its least recently used entries are deleted when it grows too large.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

_CACHE_BYTES = 1 << 30
_CACHED_FROM = 0.3  # seconds that a program took to compile


def prepare() -> None:
    """Set the variables that are not set yet."""
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    defaults = {
        "JAX_COMPILATION_CACHE_DIR": str(Path(sys.prefix, "jax-cache")),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(_CACHE_BYTES),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(_CACHED_FROM),
        "MPLBACKEND": "Agg",
        "NPROC": threads,  # XLA makes as many threads
        "PJRT_NPROC": threads,  # the same in later ones
        "TF_CPP_MIN_LOG_LEVEL": "3",  # pages of processor features for every program from the cache
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'false' if threads == '1' else 'true'}",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    logging.getLogger("jax").setLevel(logging.WARNING)  # it lists the accelerators that are missing
