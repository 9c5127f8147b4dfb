"""The bridge's environment: only Ray, with the cluster's versions of Ray and Python.

<home>/bridges/ray-2.60.0-python-3.11.7/     an environment; complete if it contains the file ``complete``
<home>/code/<digest>/                        our code for it, as on nodes
<home>/bridges/clusters.json                 versions of each address at its last check
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.engines.code_archive import pack_code, unpack_code
from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.workers.home import ProgressCallback, home, installer_lock
from mosaic_lab.workers.shims import bundled_folder
from mosaic_lab.workers.uv import Uv

RAY_VERSION = "2.60.0"
"""The version that is tried first if the profile specifies none."""
OPEN = (
    "It requires no token: anyone who reaches its ports can run programs on it. RAY_AUTH_MODE=token, set for "
    "all of its nodes, changes that."
)
"""Warning about a cluster that was reached without a token."""
_BUILD_SECONDS = 900.0
_CHECK_SECONDS = 120.0
_OLDEST_PYTHON = (3, 11)


def bridge_code() -> Path:
    """Return the folder of our code for the bridge, without packages installed alongside it."""
    return unpack_code(_archive(), home())


@cache
def _archive() -> bytes:
    return pack_code(bundled_folder())


def bridge_command(python: Path, settings: dict[str, Any]) -> list[str]:
    """Return the command of the bridge, or of a check. See `engines.ray.__main__`."""
    main = bridge_code() / "mosaic_lab" / "engines" / "ray" / "__main__.py"
    return [str(python), "-I", "-X", "utf8", str(main), json.dumps(settings)]


def bridge_variables(cluster: Cluster) -> dict[str, str]:
    """Return the environment variables of the bridge. Raises ConfigurationError if the token does not
    exist."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**inherited, **cluster.token_variables(), "RAY_USAGE_STATS_ENABLED": "0"}


def describe_cluster(cluster: Cluster, progress: ProgressCallback = print) -> dict[str, Any]:
    """Return the cluster's description: ``nodes``, ``ray`` and ``python``. Builds the required environment.
    Raises MosaicError with the reason if the cluster cannot be reached."""
    recorded = _recorded().get(cluster.address) or [RAY_VERSION, platform.python_version()]
    versions = [cluster.ray_version or recorded[0], cluster.python or recorded[1]]
    answer = _answer_of(cluster, _ensure(versions, progress))
    if "problem" in answer and "ray" in answer:  # the cluster has other versions
        versions = [answer["ray"], answer["python"]]
        answer = _answer_of(cluster, _ensure(versions, progress))
    if "problem" in answer:
        raise MosaicError(f"cluster {cluster.name} ({cluster.address}): {answer['problem']}")
    if versions != _recorded().get(cluster.address):
        write_json(_record_path(), {**_recorded(), cluster.address: versions})
    return answer


def bridge_python(cluster: Cluster, progress: ProgressCallback) -> Path:
    """Return the interpreter of the environment for a cluster.

    A cluster that was never checked is checked first; ``progress`` is then also called with a warning if it
    requires no token. Raises MosaicError.
    """
    if cluster.address not in _recorded():
        describe_cluster(cluster, progress)
        if not cluster.has_token:
            progress(f"{cluster.name} ({cluster.address}): {OPEN}")
    return _ensure(_recorded()[cluster.address], progress)


def _ensure(versions: Sequence[str], progress: ProgressCallback) -> Path:
    """Return the interpreter of an environment with these versions of Ray and Python, built if needed."""
    ray_version, python = versions
    if tuple(int(part) for part in python.split(".")[:2]) < _OLDEST_PYTHON:
        raise MosaicError(
            f"the cluster has Python {python}: the keeper on its nodes needs 3.11 or newer. "
            "Start the cluster with a newer Python"
        )
    name = f"ray-{ray_version}-python-{python}"
    folder = home() / "bridges" / name
    interpreter, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists() and interpreter.exists():
        return interpreter
    folder.parent.mkdir(parents=True, exist_ok=True)
    with installer_lock(name, progress, _BUILD_SECONDS) as lock:
        if not complete.exists():
            progress(f"building the environment of the bridge, once: Ray {ray_version}, Python {python}")
            shutil.rmtree(folder, ignore_errors=True)
            uv = Uv(folder.parent, progress, time.monotonic() + _BUILD_SECONDS, lock)
            same_version = python == platform.python_version()
            base = sys.executable if same_version else python
            uv.do("creating it", "venv", "--no-project", "--python", base, str(folder))
            packages = ["--python", str(interpreter), f"ray[client]=={ray_version}"]
            uv.do("installing Ray", "pip", "install", *packages)
            complete.touch()
    return interpreter


def _answer_of(cluster: Cluster, python: Path) -> dict[str, Any]:
    settings = {"cluster": cluster.name, "address": cluster.address}
    try:
        done = subprocess.run(
            bridge_command(python, settings),
            env=bridge_variables(cluster),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CHECK_SECONDS,
        )
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"problem": f"no answer within {_CHECK_SECONDS:g} s"}
    except (ValueError, IndexError):
        lines = done.stderr.strip().splitlines()
        return {"problem": f"the check failed (exit code {done.returncode}): {''.join(lines[-1:])}"}
    return dict(answer)


def _recorded() -> dict[str, list[str]]:
    try:
        return dict(json.loads(_record_path().read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _record_path() -> Path:
    return home() / "bridges" / "clusters.json"
