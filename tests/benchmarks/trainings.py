"""How fast a finished CleanRL training was, by the TensorBoard files that its script wrote."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mosaic_lab.environments import Environment

READ_SPEED = """
import sys
from pathlib import Path
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
seen = [(event.wall_time, event.step) for path in Path(sys.argv[1]).rglob("events.out.tfevents*")
        for event in EventFileLoader(str(path)).Load() if event.summary.value and event.step > 0]
(began, first), (ended, last) = min(seen), max(seen)
print((last - first) / (ended - began))
"""


def steps_per_second(environment: Environment, folder: Path) -> float:
    """Steps between the first and the last entry below ``folder``, over the time between them."""
    done = subprocess.run(
        [str(environment.python), "-c", READ_SPEED, str(folder)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)
