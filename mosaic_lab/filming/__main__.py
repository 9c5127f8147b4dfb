"""The process that makes films: ``python -m mosaic_lab.filming --config <run folder>/config.json``.

It follows a training through its run folder. See `runs.run_process`.
"""

from __future__ import annotations

import json
import os
import sys

from mosaic_contract.priority import extend_priority_to_session
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.filming.film_maker import FilmMaker
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs.run_process import run_to_end

_NICENESS = 10
"""Niceness of all filming processes. If every core is busy, a film gets a tenth of one core, and its
deadlines are ten times as long (`mosaic_contract.priority`)."""


def begin(folder: RunFolder, telemetry: Telemetry) -> FilmMaker:
    """Return the maker of the films configured in ``folder``."""
    os.nice(_NICENESS)
    extend_priority_to_session()
    return FilmMaker(folder, json.loads(folder.config_path.read_bytes()), telemetry)


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.filming", begin))
