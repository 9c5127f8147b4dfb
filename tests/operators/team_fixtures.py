"""Checkpoints with policies for several agents of the family "odd"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENV = "Team-v0"


def save_policies(folder: Path, **shifts: int) -> Path:
    """Save a checkpoint of the worker "odd": each agent's policy (red_0=shift) plays (seen + shift) % 3."""
    sizes = {"red_0": 4, "red_1": 6, "blue_0": 4}
    weights = {
        agent: [[float(action == (seen + shift) % 3) for action in range(3)] for seen in range(sizes[agent])]
        for agent, shift in shifts.items()
    }
    spaces = {
        agent: {"observation_space": discrete(sizes[agent]), "action_space": discrete(3)} for agent in shifts
    }
    path = folder / "policies.weights"
    path.write_text(json.dumps(weights))
    described = {"format": "mosaic-odd/1", "algorithm": "linear", "agents": spaces}
    path.with_suffix(".json").write_text(json.dumps(described))
    return path


def discrete(n: int) -> dict[str, Any]:
    return {"type": "Discrete", "shape": [], "dtype": "int64", "n": n, "start": 0}
