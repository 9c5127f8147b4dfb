"""Starts a keeper: ``python -I -S …/mosaic_lab/supervisor/__main__.py RUN_FOLDER LOCK_DESCRIPTOR``.

Isolated and without site-packages, so that a keeper is small, starts in milliseconds and depends on nothing
that the user may change while the run lives.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from mosaic_lab.supervisor.keeper import main

main()
