"""Telemetry files as workers write them, for the benchmarks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

RETURN = "charts/episodic_return"
NAMES = ("losses/value_loss", "losses/policy_loss", "charts/SPS", RETURN)
START = 1_760_000_000.0


def line(index: int, names: Sequence[str] = NAMES) -> str:
    """Return metrics line ``index`` of a run with 1,000 lines per second, which cycle through ``names``."""
    value = math.sin(index / 1e4) + index % 17 / 50
    message = {
        "event": "metrics",
        "run_id": "cleanrl-ppo-cartpole-v1-seed1",
        "timestamp": START + index / 1000,
        "payload": {"step": 4 * index, "values": {names[index % len(names)]: value}},
    }
    return json.dumps(message, separators=(",", ":")) + "\n"


def write_run(folder: Path, lines: int, begin: int = 0, names: Sequence[str] = NAMES) -> Path:
    """Append metrics lines ``begin`` to ``begin + lines`` to the telemetry of the run in ``folder``."""
    folder.mkdir(exist_ok=True)
    with (folder / "telemetry.jsonl").open("a") as file:
        file.writelines(line(index, names) for index in range(begin, begin + lines))
    return folder
