"""A network namespace with only the loopback, for Ray clusters, whose servers listen on every interface."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

OLDER_RAY = "2.59.0"
"""A Ray version that the cluster does not run; `extended` tests build a bridge environment with it."""
_ENTER = ["unshare", "--net", "--pid", "--map-root-user", "--fork", "--mount-proc", "--kill-child"]
_OF_OUR_INSTALLER = ("uv", "packaging", "platformdirs", "psutil")
_OF_EVALUATIONS = ("numpy", "msgspec", "tsdownsample")
_OF_THE_SCRIPT_WORKER = ["hatchling>=1.27", "tensorboard==2.21.0", "setuptools==80.10.2"]
_OF_THE_RANDOM_WORKER = ["gymnasium==1.4.0", "numpy==2.3.5"]


def download_wheels(folder: Path) -> Path:
    """Download the wheels that nodes without a network need for these workers and for evaluations."""
    ours = [f"{name}=={version(name)}" for name in (*_OF_OUR_INSTALLER, *_OF_EVALUATIONS)]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    for wanted in ([*ours, *_OF_THE_SCRIPT_WORKER], _OF_THE_RANDOM_WORKER):
        subprocess.run([*download, *wanted], check=True, timeout=300)
    return folder


def run_inside(command: Sequence[str], wheels: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a new namespace; all processes in it end with the command.

    The command gets the folder of wheels as ``MOSAIC_TEST_WHEELS``, and a short ``TMPDIR``, in which Ray
    creates sockets: their paths are limited in length.
    """
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with tempfile.TemporaryDirectory(prefix="mosaic-ray-") as folder:
        inside = {"MOSAIC_TEST_NAMESPACE": "1", "MOSAIC_TEST_WHEELS": str(wheels), "TMPDIR": folder}
        return subprocess.run(
            [*_ENTER, "sh", "-c", f"{shlex.join(command)}; exit $?"],  # the shell reaps orphaned processes
            env={**outside, **inside},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )
