"""The state of PyTorch's optimisers in a checkpoint, read by the interpreter of its worker."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

_PROGRAM = """
import json, sys, torch

def rates(found):
    if isinstance(found, dict) and "param_groups" in found:
        return [group["lr"] for group in found["param_groups"]]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else ()
    return [rate for part in parts for rate in rates(part)]

print(json.dumps(rates(torch.load(sys.argv[1], weights_only=True))))
"""


def learning_rates(python: str, checkpoint: Path) -> list[float]:
    """Return the learning rates of all optimisers in a checkpoint."""
    done = subprocess.run(
        [python, "-c", _PROGRAM, str(checkpoint)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: list[float] = json.loads(done.stdout)
    return found
