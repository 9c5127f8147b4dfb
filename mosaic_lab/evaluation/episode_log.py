"""The finished episodes of an evaluation, each one line of its telemetry.

A line is an "episode" event with additional fields in its metadata and a checksum, which is verified when the
line is read. `repair` prepares a truncated or damaged file for resuming.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mosaic_contract import as_number
from mosaic_contract.codec import is_sealed
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan, Key
from mosaic_lab.keeper.events import EPISODE, TERMINAL
from mosaic_lab.runs.run_process import RunAborted
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.stream import decode_message

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 1 << 21  # longer than any line
_ERROR_LIMIT = 4000  # characters
_MAX_NAMED = 5  # lines in a message

Record = dict[str, Any]


class PlayedEvaluation(Protocol):
    """An evaluation with finished episodes: a run on this machine, or an opened bundle."""

    @property
    def plan(self) -> EvaluationPlan: ...

    @property
    def versions(self) -> dict[str, dict[str, str]]: ...

    @property
    def recording(self) -> Path: ...

    def arena_path(self, name: str) -> Path: ...

    def records(self) -> list[Record]: ...

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame: ...


class NotRecorded(RunAborted):
    """Raised when played episodes could not be recorded."""

    error_type = "NotRecorded"


class EpisodeLog:
    """The episodes in a telemetry file, by key; the last line of an episode counts. Damaged lines are skipped
    and reported by `damage`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin()

    def _begin(self) -> None:
        self.episodes: dict[Key, Record] = {}
        self._damaged = False
        self._follower = JsonlFollower(self.path)

    def read(self) -> dict[Key, Record]:
        """Read newly written lines and return all episodes."""
        if self._damaged:  # the file may have been repaired since
            self._begin()
        for line in self._follower.lines():
            self._read_line(line)
        health = self._follower.health
        self._damaged |= bool(health.oversize or health.invalid_utf8)
        return self.episodes

    def damage(self) -> list[int]:
        """Return the numbers of the damaged lines, counted from 1."""
        self.read()
        return [number for number, _, _ in damaged_lines(self.path)] if self._damaged else []

    def _read_line(self, line: bytes) -> None:
        if not is_sealed(line):
            self._damaged = True
        elif (record := _record_of(line)) is not None:
            self.episodes[key_of(record)] = record


def key_of(record: Record) -> Key:
    """Return the key of a record's episode."""
    return record["operator"], record["seed"], record["episode"]


def settled(plan: EvaluationPlan, episodes: Mapping[Key, Record]) -> set[Key]:
    """Return the keys of the episodes that `resume` does not play again. Failures under ``on_failure="stop"``
    are played again."""
    replays_failures = plan.request.on_failure == "stop"
    return {key for key, record in episodes.items() if record["status"] == "ok" or not replays_failures}


def write_episode(
    telemetry: Telemetry, job: EpisodeJob, report: Mapping[str, Any], category: str, arena: str
) -> None:
    """Record a finished episode: the arena's report and the name of its folder. Raises NotRecorded."""
    returns = {agent: as_number(value) for agent, value in report["returns"].items()}
    copied = ("forfeit", "success", "progression", "operators")
    metadata = {name: report.get(name) for name in copied} | {"returns": returns}
    if "recording" in report:
        metadata["recording"] = report["recording"]
    _write(
        telemetry,
        job,
        total_reward=sum(returns.values()),
        steps=report["steps"],
        terminated=report["terminated"],
        truncated=report["truncated"],
        duration_seconds=report["duration_seconds"],
        metadata=_job_metadata(job, category, arena) | metadata | {"status": "ok", "error": ""},
        step=telemetry.last_step + int(report["steps"]),
    )


def write_failure(telemetry: Telemetry, job: EpisodeJob, error: str, category: str, arena: str) -> None:
    """Record an episode that failed; it has no return. Raises NotRecorded."""
    total = telemetry.total_reward
    _write(
        telemetry,
        job,
        total_reward=math.nan,
        steps=0,
        metadata=_job_metadata(job, category, arena) | {"status": "failed", "error": error[:_ERROR_LIMIT]},
    )
    telemetry.total_reward = total


def _write(telemetry: Telemetry, job: EpisodeJob, **episode: Any) -> None:
    dropped = telemetry.dropped_lines
    telemetry.episode(episode_seed=job.episode_seed, agent_id=job.label, **episode)
    if telemetry.dropped_lines > dropped:
        raise NotRecorded


def check_complete(plan: EvaluationPlan, path: Path) -> None:
    """Raise NotRecorded if the telemetry file lacks episodes of the plan."""
    recorded, jobs = EpisodeLog(path).read(), plan.jobs()
    if any(job.key not in recorded for job in jobs):
        raise NotRecorded(
            f"not all of the {len(jobs):,} episodes could be written to {path.parent}. Free space on its "
            "disk; resume() plays the remaining ones"
        )


def lines_text(numbers: Sequence[int]) -> str:
    """Return line numbers as the subject of a sentence: "line 7", "lines 7, 9 and 12"."""
    parts = [f"{number:,}" for number in numbers[:_MAX_NAMED]]
    if more := len(numbers) - len(parts):
        parts.append(f"{more:,} more")
    return f"line {parts[0]}" if len(parts) == 1 else f"lines {', '.join(parts[:-1])} and {parts[-1]}"


def repair(path: Path) -> list[int]:
    """Remove a truncated last line, a final end event and damaged lines; return the numbers of the damaged
    lines, counted from 1. These become empty lines, so that readers' byte offsets remain valid."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return []
    with file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _BLOCK))
        block = file.read()
        torn = len(block) - (block.rfind(b"\n") + 1)
        last = block[block.rfind(b"\n", 0, len(block) - torn - 1) + 1 : len(block) - torn]
        is_end = any(decode_message(last, event) for event in TERMINAL)
        surplus = torn + (len(last) if is_end else 0)
        if surplus:
            file.truncate(size - surplus)
        damaged = list(damaged_lines(path))
        for _, start, length in damaged:
            file.seek(start)
            file.write(b"\n" * length)
    return [number for number, _, _ in damaged]


def damaged_lines(path: Path) -> Iterator[tuple[int, int, int]]:
    """Yield the number, byte offset and length of each complete but damaged line."""
    start = 0
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_BLOCK), b""), 1):
            is_complete = line.endswith(b"\n") or len(line) == _BLOCK
            if is_complete and line != b"\n" and not is_sealed(line):
                yield number, start, len(line)
            start += len(line)


def _job_metadata(job: EpisodeJob, category: str, arena: str) -> dict[str, Any]:
    return {
        "operator": job.label,
        "category": category,
        "seed": job.seed,
        "episode": job.episode,
        "index": job.index,
        "arena": arena,
    }


def _record_of(line: bytes) -> Record | None:
    """Return the episode of a line; None for other lines."""
    try:
        if (message := decode_message(line, EPISODE)) is None:
            return None
        metadata = message["metadata"]
        returns = {agent: as_number(value) for agent, value in (metadata.get("returns") or {}).items()}
        total = as_number(message["total_reward"])
        if metadata.get("status") == "ok" and not math.isfinite(total):  # statistics need finite returns
            metadata = {**metadata, "status": "failed", "error": f"its return is {total}"}
        return {
            **metadata,
            "operator": str(metadata["operator"]),
            "seed": int(metadata["seed"]),
            "episode": int(metadata["episode"]),
            "episode_seed": message["episode_seed"],
            "return": total,
            "returns": returns,
            "steps": int(message["steps"]),
            "terminated": bool(message["terminated"]),
            "truncated": bool(message["truncated"]),
            "seconds": message.get("duration_seconds"),
            "timestamp": float(message["timestamp"]),
        }
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
