"""The process that makes films: ``python -m mosaic_lab.filming --config <run folder>/config.json``. It
follows a training through its run folder. See `runs.checkpoint_runner`."""

from __future__ import annotations

import sys

from mosaic_lab.filming.film_maker import FilmMaker
from mosaic_lab.runs.checkpoint_runner import run_in_background

if __name__ == "__main__":
    sys.exit(run_in_background("mosaic_lab.filming", FilmMaker))
