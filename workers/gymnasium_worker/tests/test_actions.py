"""Operators' actions are converted to Gymnasium's spaces or refused, in the worker's own environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mosaic_lab.workers import WorkerEnvironment

PROGRAM = Path(__file__).parent / "peers" / "refuse_actions.py"


def test_an_action_is_played_as_its_space_holds_it_or_refused(worker: WorkerEnvironment) -> None:
    done = subprocess.run([str(worker.python), str(PROGRAM)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
