"""What happened in a comparison as tables.

Crosses the boundary: `episode_rows`, `results_table` and `steps_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract import BadLine, as_number, decode_line

from mosaic_lab.arenas.lane import Lane
from mosaic_lab.telemetry.follower import JsonlFollower

if TYPE_CHECKING:
    import pandas as pd

_EPISODES = {
    "lane": "object",
    "operator": "object",
    "category": "object",
    "seed": "int64",
    "episode_index": "int64",
    "return": "float64",
    "length": "int64",
    "terminated": "bool",
    "truncated": "bool",
    "forfeit": "object",
    "success": "boolean",
    "faults": "int64",
    "seconds": "float64",
}
_STEPS = {
    "episode_index": "int64",
    "step_index": "int64",
    "agent_id": "object",
    "action": "object",
    "reward": "float64",
    "terminated": "bool",
    "truncated": "bool",
    "episode_seed": "Int64",
}


def episode_rows(lanes: Sequence[Lane]) -> list[dict[str, Any]]:
    """One row for each finished episode of each lane, in order of the episodes; see `Comparison.results`."""
    rows = [_episode_row(lane, episode) for lane in lanes for episode in lane.rows]
    return sorted(rows, key=lambda row: int(row["episode_index"]))


def results_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a table; returns of single agents come in columns of their own, at the end."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in _EPISODES.items()}
    agents = dict.fromkeys(name for row in rows for name in row if name not in _EPISODES)
    own = {name: pd.Series([row.get(name) for row in rows], dtype="float64") for name in agents}
    return pd.DataFrame(columns | own)


def steps_table(folders: Sequence[Path], episode_index: int | None = None) -> pd.DataFrame:
    """Every step of every agent that these lane folders hold (of one episode), in order of writing."""
    import pandas as pd

    mark = b'"step"' if episode_index is None else b'"episode_index":%d,' % episode_index
    steps = [step for folder in folders for step in _steps_in(folder, mark)]
    return pd.DataFrame(
        {name: pd.Series([step[name] for step in steps], dtype=kind) for name, kind in _STEPS.items()}
    )


def _episode_row(lane: Lane, episode: dict[str, Any]) -> dict[str, Any]:
    operators = lane.assignment.operators.values() if lane.assignment else ()
    returns: dict[str, float] = episode["returns"]
    row = {
        "lane": lane.label,
        "operator": ", ".join(dict.fromkeys(spec.name for spec in operators)),
        "category": ", ".join(dict.fromkeys(str(spec.category) for spec in operators)),
        "seed": episode["seed"],
        "episode_index": episode["episode_index"],
        "return": sum(returns.values()),
        "length": episode["steps"],
        "terminated": bool(episode["terminated"]),
        "truncated": bool(episode["truncated"]),
        "forfeit": episode.get("forfeit"),
        "success": episode.get("success"),
        "faults": sum((episode.get("faults") or {}).values()),
        "seconds": float(episode.get("duration_seconds") or 0.0),
    }
    several = {f"return {agent}": value for agent, value in returns.items()} if len(returns) > 1 else {}
    return row | several


def _steps_in(folder: Path, mark: bytes) -> Iterator[dict[str, Any]]:
    follower = JsonlFollower(folder / "telemetry.jsonl")
    while True:
        for line in follower.poll():
            if mark not in line:
                continue
            try:
                message = decode_line(line)
                if message.get("type") == "step":
                    yield {
                        **{name: message.get(name) for name in _STEPS},
                        "reward": as_number(message["reward"]),
                    }
            except (BadLine, KeyError, ValueError):  # a line cut short by a kill
                continue
        if not follower.behind:
            follower.close()
            return
