"""Starts a keeper: ``python -I -S …/keeper/__main__.py RUN_FOLDER LOCK_DESCRIPTOR CONTRACT_FOLDER``.

Isolated and without site-packages, so that a keeper is small, starts in milliseconds and depends on nothing
that the user may change while the run lives.
"""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[2]), sys.argv[3]]  # mosaic_lab, mosaic_contract

from mosaic_lab.keeper.main import main

main()
