"""The bridge's process, and the check of a cluster: ``python -I …/ray/__main__.py SETTINGS``.

It runs from an unpacked archive of our code. SETTINGS is a JSON document: ``cluster`` and ``address``, and
the ``socket`` to serve; without one the cluster is checked, and the answer is one JSON line.
"""

import json
import sys
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[3] / part) for part in ("", "workers/contract")]

from mosaic_lab.engines.bridge import main
from mosaic_lab.engines.code_archive import pack
from mosaic_lab.engines.ray.check import answer
from mosaic_lab.engines.ray.engine import RayEngine

settings = json.loads(sys.argv[1])
if settings.get("socket"):
    archive = pack(Path(__file__).resolve().parents[3] / "workers")
    engine = RayEngine(settings["cluster"], settings["address"], archive)
    main(Path(settings["socket"]), engine, settings["cluster"])
else:
    print(json.dumps(answer(settings["cluster"], settings["address"])))
