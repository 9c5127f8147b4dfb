"""The bridge's process, and the check of a cluster: ``python -I …/ray/__main__.py SETTINGS``.

It runs from an unpacked archive of our code. SETTINGS is a JSON document with ``cluster``, ``address`` and
the ``socket`` to serve. Without ``socket`` it checks the cluster and prints the answer as one JSON line.
"""

import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).resolve().parents[3] / part) for part in ("", "workers/contract")]

import ray

from mosaic_lab.engines.bridge import main
from mosaic_lab.engines.code_archive import pack_code
from mosaic_lab.engines.engine import Unreachable
from mosaic_lab.engines.ray.connection import WrongVersions
from mosaic_lab.engines.ray.engine import RayEngine


def cluster_description(cluster: str, address: str) -> dict[str, Any]:
    """Return the cluster's ``nodes`` or the ``problem``, and its versions ``ray`` and ``python`` if known."""
    try:
        nodes = [asdict(node) for node in RayEngine(cluster, address, b"").nodes()]
    except WrongVersions as error:
        return {"problem": str(error), "ray": error.ray_version, "python": error.python}
    except Unreachable as error:
        return {"problem": str(error)}
    return {"nodes": nodes, "ray": ray.__version__, "python": platform.python_version()}


settings = json.loads(sys.argv[1])
if settings.get("socket"):
    archive = pack_code(Path(__file__).resolve().parents[3] / "workers")
    engine = RayEngine(settings["cluster"], settings["address"], archive)
    main(Path(settings["socket"]), engine, settings["cluster"])
else:
    print(json.dumps(cluster_description(settings["cluster"], settings["address"])))
