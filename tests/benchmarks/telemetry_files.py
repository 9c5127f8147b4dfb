"""Telemetry files as workers write them, for the benchmarks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

NAMES = ("losses/value_loss", "losses/policy_loss", "charts/SPS", "charts/episodic_return")
START = 1_760_000_000.0


def line(index: int) -> str:
    """Metrics line ``index`` of a run that writes 1,000 a second, one value a line."""
    message = {
        "event": "metrics",
        "run_id": "cleanrl-ppo-cartpole-v1-seed1",
        "timestamp": START + index / 1000,
        "payload": {
            "step": 4 * index,
            "values": {NAMES[index % len(NAMES)]: math.sin(index / 1e4) + index % 17 / 50},
        },
    }
    return json.dumps(message, separators=(",", ":")) + "\n"


def write_run(folder: Path, lines: int, begin: int = 0) -> Path:
    """Append metrics lines ``begin`` to ``begin + lines`` to the telemetry of the run in ``folder``."""
    folder.mkdir(exist_ok=True)
    with (folder / "telemetry.jsonl").open("a") as file:
        file.writelines(_lines(begin, lines))
    return folder


def _lines(begin: int, lines: int) -> Iterator[str]:
    return (line(index) for index in range(begin, begin + lines))
