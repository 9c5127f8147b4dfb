"""The episodes that an evaluation has finished: one line of its telemetry each.

Crosses the boundary: `Ledger` (reads what has come), `write_episode`, `write_failure` and `repair`, which
makes a stream that was cut off fit to go on. A line is an "episode" of the telemetry, what is ours of it in
its metadata.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_contract import BadLine, as_number, decode_line
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.evaluation.plan import Job, Key
from mosaic_lab.telemetry.follower import JsonlFollower

_TERMINAL = ("run_completed", "run_failed", "run_cancelled")
_BLOCK = 1 << 21  # more than the longest line
_ERROR_LIMIT = 4000  # characters

Record = dict[str, Any]


class Ledger:
    """The episodes in a telemetry file, by key; the last line about an episode counts."""

    def __init__(self, path: Path) -> None:
        self.episodes: dict[Key, Record] = {}
        self._follower = JsonlFollower(path)

    def read(self) -> dict[Key, Record]:
        """Take in what was written since the last call, and return all."""
        while (lines := self._follower.poll()) or self._follower.behind:
            for line in lines:
                record = _record_of(line) if b'"episode"' in line else None
                if record is not None:
                    self.episodes[record["operator"], record["seed"], record["episode"]] = record
        self._follower.close()
        return self.episodes


def write_episode(
    telemetry: Telemetry, job: Job, played: Mapping[str, Any], category: str, arena: str
) -> None:
    """``played`` is the arena's account of the episode, ``arena`` the name of its folder."""
    returns = {agent: as_number(value) for agent, value in played["returns"].items()}
    kept = ("forfeit", "success", "operators")
    about = {name: played.get(name) for name in kept} | {"returns": returns}
    telemetry.episode(
        total_reward=sum(returns.values()),
        steps=played["steps"],
        terminated=played["terminated"],
        truncated=played["truncated"],
        episode_seed=job.episode_seed,
        duration_seconds=played["duration_seconds"],
        agent_id=job.label,
        metadata=_about(job, category, arena) | about | {"status": "ok", "error": ""},
        step=telemetry.last_step + int(played["steps"]),
    )


def write_failure(telemetry: Telemetry, job: Job, error: str, category: str, arena: str) -> None:
    """An episode that could not be played to its end; it has no return."""
    total = telemetry.total_reward
    telemetry.episode(
        total_reward=math.nan,
        steps=0,
        episode_seed=job.episode_seed,
        agent_id=job.label,
        metadata=_about(job, category, arena) | {"status": "failed", "error": error[:_ERROR_LIMIT]},
    )
    telemetry.total_reward = total


def repair(path: Path) -> None:
    """Drop a last line that was cut off, and an end that was not the last one."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return
    with file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _BLOCK))
        block = file.read()
        torn = len(block) - (block.rfind(b"\n") + 1)
        last = block[block.rfind(b"\n", 0, len(block) - torn - 1) + 1 : len(block) - torn]
        surplus = torn + (len(last) if _is_end(last) else 0)
        if surplus:
            file.truncate(size - surplus)


def _about(job: Job, category: str, arena: str) -> dict[str, Any]:
    return {
        "operator": job.label,
        "category": category,
        "seed": job.seed,
        "episode": job.episode,
        "index": job.index,
        "arena": arena,
    }


def _is_end(line: bytes) -> bool:
    try:
        return decode_line(line).get("event") in _TERMINAL
    except BadLine:
        return False


def _record_of(line: bytes) -> Record | None:
    """What a line says of an episode; None where it is no such line."""
    try:
        message = decode_line(line)
        if message.get("type") != "episode":
            return None
        about = message["metadata"]
        returns = {agent: as_number(value) for agent, value in (about.get("returns") or {}).items()}
        return {
            **about,
            "operator": str(about["operator"]),
            "seed": int(about["seed"]),
            "episode": int(about["episode"]),
            "episode_seed": message["episode_seed"],
            "return": as_number(message["total_reward"]),
            "returns": returns,
            "steps": int(message["steps"]),
            "terminated": bool(message["terminated"]),
            "truncated": bool(message["truncated"]),
            "seconds": message.get("duration_seconds"),
            "timestamp": float(message["timestamp"]),
        }
    except (BadLine, AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
