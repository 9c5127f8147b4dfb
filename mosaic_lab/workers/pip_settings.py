"""Convert pip's configuration to environment variables for uv, which does not read it.

The configuration comes from ``pip config list`` (files and PIP_* variables) of this process's interpreter or,
without pip, of its base interpreter. Index URLs may contain passwords: they are passed in the environment of
the uv process and never written to disk.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

_PIP_TIMEOUT = 60.0
_SECTIONS = ("global", "install", ":env:")  # pip's precedence, lowest first


def uv_environment() -> dict[str, str]:
    """Return the environment variables for a uv process: those of this process, and pip's settings unless the
    user has set uv's own.
    """
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    for key, value in as_uv_variables(read_pip_settings()).items():
        environ.setdefault(key, value)
    if environ.get("UV_INDEX_URL"):  # uv's older name of the variable
        environ.pop("UV_DEFAULT_INDEX", None)
    return environ


def read_pip_settings() -> dict[str, str]:
    """Return pip's configuration (``{"index-url": …}``); empty if pip is not installed."""
    # uv's virtual environments have no pip, but the interpreter that they are based on usually does.
    for python in dict.fromkeys((sys.executable, getattr(sys, "_base_executable", sys.executable))):
        command = [python, "-m", "pip", "--disable-pip-version-check", "config", "list"]
        with suppress(OSError, subprocess.TimeoutExpired):
            answer = subprocess.run(
                command, capture_output=True, text=True, timeout=_PIP_TIMEOUT, check=False
            )
            if answer.returncode == 0:
                return parse_pip_config(answer.stdout)
    return {}


def parse_pip_config(text: str) -> dict[str, str]:
    """Parse the output of ``pip config list`` (``section.key='value'``); variables override files."""
    settings: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        match = re.fullmatch(r"(global|install|:env:)\.([\w-]+)=(.*)", line.strip())
        if match:
            section, key, value = match.groups()
            try:
                settings[section][key] = str(ast.literal_eval(value))
            except (SyntaxError, ValueError):
                continue
    return {key: value for section in _SECTIONS for key, value in settings[section].items()}


def as_uv_variables(pip: Mapping[str, str]) -> dict[str, str]:
    """Translate pip's settings to uv's environment variables.

    pip looks for the best version in all of its indexes; uv, by default, only in the first one that has the
    package. With extra indexes, uv is configured to behave like pip.
    """
    variables: dict[str, str] = {}
    for key, variable in (
        ("index-url", "UV_DEFAULT_INDEX"),
        ("timeout", "UV_HTTP_TIMEOUT"),
        ("default-timeout", "UV_HTTP_TIMEOUT"),
        ("cert", "SSL_CERT_FILE"),
        ("proxy", "ALL_PROXY"),
    ):
        if pip.get(key):
            variables[variable] = pip[key]
    if extra := pip.get("extra-index-url", "").split():
        variables["UV_INDEX"] = " ".join(extra)
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if links := pip.get("find-links", "").split():
        variables["UV_FIND_LINKS"] = ",".join(links)
    if hosts := pip.get("trusted-host", "").split():
        variables["UV_INSECURE_HOST"] = " ".join(hosts)
    if pip.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        variables["UV_NO_INDEX"] = "1"
    return variables


def without_credentials(text: str) -> str:
    """Return ``text`` with the user and password of every URL replaced by ``***``."""
    return re.sub(r"(\w[\w+.-]*://)[^/@\s]+@", r"\1***@", text)
