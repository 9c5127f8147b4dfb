"""What a worker is given of the user's environment, and what is written down about where a run came from.

Crosses the boundary: `compose_environment` (pure), `USER_SITE`, `provenance` and `cores`. Values of variables
reach the worker only when they are on the list below or were asked for, and are written nowhere.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab._version import __version__
from mosaic_lab.errors import ConfigurationError

_INHERITED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "DISPLAY"}
    | {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
    | {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}
)
_INHERITED_PREFIXES = ("LC_", "XDG_", "SSL_CERT_", "NVIDIA_")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_FIXED = {
    "MPLBACKEND": "Agg",
    "PYTHONFAULTHANDLER": "1",  # a crash in C leaves its Python traceback in worker.log
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
    "SDL_AUDIODRIVER": "dummy",  # pygame's mixer fills the log where there is no sound card
    "SDL_NO_SIGNAL_HANDLERS": "1",  # else SDL swallows SIGTERM after the first rendered frame
    "SDL_VIDEODRIVER": "dummy",
}
_GIT_DEADLINE = 3.0

USER_SITE = {"PYTHONNOUSERSITE": ""}
"""Variables for a process that needs what the user has installed, possibly in the user's own folder."""


def compose_environment(
    source: Mapping[str, str],
    *,
    threads: int = 1,
    environ: Mapping[str, str] | None = None,
    pass_env: Iterable[str] = (),
) -> dict[str, str]:
    """A worker's environment: the listed variables of ``source``, thread counts, what a headless process
    needs, the variables named in ``pass_env``, then ``environ``.

    Raises ConfigurationError when a variable named in ``pass_env`` is not set, or ``threads`` is no count.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ConfigurationError(f"threads={threads!r}: give a whole number of 1 or more")
    names = [n for n in source if n in _INHERITED or n.startswith(_INHERITED_PREFIXES)]
    composed = {name: source[name] for name in names}
    composed |= dict.fromkeys(_THREADS, str(threads))
    composed |= _FIXED
    for name in pass_env:
        if name not in source:
            raise ConfigurationError(f"pass_env names {name!r}, which is not set in this process")
        composed[name] = source[name]
    return composed | {name: str(value) for name, value in (environ or {}).items()}


def provenance(
    folder: Path, environment: Mapping[str, Any], program: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Where a run comes from: our version, interpreter, platform, git commit, the worker's environment, and
    of a program of the user's that the worker runs its path and the folder that it runs in, with its commit.
    """
    known = {
        "mosaic_lab": __version__,
        "python": sys.version,
        "python_executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cwd": str(folder),
        "git": git_state(folder),
        "environment": dict(environment),
    }
    if program is not None:
        known["program"] = {**program, "git": git_state(Path(program["cwd"]))}
    return known


def git_state(folder: Path) -> dict[str, Any] | None:
    """``{"commit", "dirty"}`` of the folder's repository; None without one or when git takes too long.

    ``dirty`` looks at tracked files only and is None when git took too long over it.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_DEADLINE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def cores() -> int:
    """Processor cores that this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
