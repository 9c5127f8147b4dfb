"""The environment variables of a run's processes. A worker receives one of the user's variables only if it is
listed here or was requested. Values are never recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mosaic_lab.errors import ConfigurationError

RUN_DIR_VARIABLE, KEEPER_VARIABLE = "MOSAIC_RUN_DIR", "MOSAIC_KEEPER_OF"
"""Variables of a worker's processes and of a keeper, with the path of their run folder as the value."""
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
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "PYTHONFAULTHANDLER": "1",  # a crash in C leaves its Python traceback in worker.log
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",
    "SDL_AUDIODRIVER": "dummy",  # pygame's mixer fills the log without a sound card
    "SDL_NO_SIGNAL_HANDLERS": "1",  # otherwise SDL swallows SIGTERM after the first rendered frame
    "SDL_VIDEODRIVER": "dummy",
}

USER_SITE = {"PYTHONNOUSERSITE": ""}
"""Variables for a process that needs the user's installed packages, possibly in the user site directory."""


def compose_variables(
    source: Mapping[str, str],
    *,
    threads: int = 1,
    env_vars: Mapping[str, str] | None = None,
    pass_env_vars: Iterable[str] = (),
) -> dict[str, str]:
    """Return a worker's environment variables: the listed ones in ``source``, thread counts, variables for
    headless processes, those named in ``pass_env_vars``, then ``env_vars``.

    Raises ConfigurationError if a variable named in ``pass_env_vars`` is not set or ``threads`` is not a
    positive integer.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ConfigurationError(f"threads={threads!r}: must be an integer ≥ 1")
    names = [n for n in source if n in _INHERITED or n.startswith(_INHERITED_PREFIXES)]
    composed = {name: source[name] for name in names}
    composed |= dict.fromkeys(_THREADS, str(threads))
    composed |= _FIXED
    for name in pass_env_vars:
        if name not in source:
            raise ConfigurationError(f"pass_env_vars names {name!r}, which is not set in this process")
        composed[name] = source[name]
    return composed | {name: str(value) for name, value in (env_vars or {}).items()}


def requested(names: Iterable[str], besides: str = "") -> list[str]:
    """Return the names of the variables that the user requested for a worker, sorted, without the standard
    ones and ``besides``."""
    usual = {*_INHERITED, *_THREADS, *_FIXED, besides}
    return sorted({n for n in map(str, names) if n not in usual and not n.startswith(_INHERITED_PREFIXES)})
