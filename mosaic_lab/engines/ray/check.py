"""A description of a cluster, for `clusters check`."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import ray

from mosaic_lab.engines.engine import Unreachable
from mosaic_lab.engines.ray.engine import RayEngine
from mosaic_lab.engines.ray.refused_connection import WrongVersions


def answer(cluster: str, address: str) -> dict[str, Any]:
    """Return the cluster's ``nodes`` or the ``problem``, and its versions, ``ray`` and ``python``, where
    they are known."""
    try:
        nodes = [asdict(node) for node in RayEngine(cluster, address, b"").nodes()]
    except WrongVersions as error:
        return {"problem": str(error), "ray": error.ray_version, "python": error.python}
    except Unreachable as error:
        return {"problem": str(error)}
    return {"nodes": nodes, "ray": ray.__version__, "python": platform.python_version()}
