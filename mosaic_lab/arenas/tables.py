"""The episodes and steps of a comparison as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract import as_number
from mosaic_contract.codec import DEFAULT_LINE_LIMIT

from mosaic_lab.arenas.lane import Lane
from mosaic_lab.keeper.events import STEP
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.stream import decode_message

if TYPE_CHECKING:
    import pandas as pd

EPISODES = {
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
"""The columns of `episode_rows` with their dtypes."""
_STEPS = {
    "episode_index": "int64",
    "step_index": "int64",
    "agent_id": "object",
    "action": "object",
    "reward": "float64",
    "terminated": "bool",
    "truncated": "bool",
    "episode_seed": "Int64",
    "observation_hash": "Int64",
    "fault": "object",
    "end_hash": "Int64",
}

_EPISODE = re.compile(rb'"episode_index":(\d{1,15}),')


def episode_rows(lanes: Sequence[Lane], newest: int = 0) -> list[dict[str, Any]]:
    """Return one row per finished episode of each lane, in order of the episodes, limited to the ``newest``
    episodes (0: all); see `Comparison.results`."""
    ended = [(lane, episode) for lane in lanes for episode in lane.rows[-newest:]]
    ended.sort(key=lambda pair: int(pair[1]["episode_index"]))
    return [_episode_row(lane, episode) for lane, episode in ended[-newest:]]


def table_of(rows: Sequence[Mapping[str, Any]], dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a table with columns of these dtypes; `agent_returns` become the last columns."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in dtypes.items()}
    agents = dict.fromkeys(name for row in rows for name in row if name not in dtypes)
    agent_columns = {name: pd.Series([row.get(name) for row in rows], dtype="float64") for name in agents}
    return pd.DataFrame(columns | agent_columns)


def agent_returns(returns: Mapping[str, float]) -> dict[str, float]:
    """Return a row's columns with the return of each agent, if there are several agents."""
    return {f"return {agent}": value for agent, value in returns.items()} if len(returns) > 1 else {}


def prompt_text(turns: Iterable[Mapping[str, Any]]) -> str:
    """Return the turns of a recorded prompt as one text; an image is named by its hash."""
    return "\n\n".join(_turn(turn) for turn in turns)


def _turn(turn: Mapping[str, Any]) -> str:
    images = [f"(image {name[:12]})" for name in turn["images"]]
    return "\n".join([f"[{turn['role']}]", turn["text"], *images])


def steps_table(folders: Sequence[Path]) -> pd.DataFrame:
    """Return every step of every agent in these lane folders, in order of writing."""
    files = (JsonlFollower(folder / "telemetry.jsonl") for folder in folders)
    return _steps(line for file in files for line in file.lines())


def steps_of(lines: Iterable[bytes], episode_index: int) -> pd.DataFrame:
    """Return the steps of one episode in these lines, as in `steps_table`."""
    steps = _steps(lines)
    return steps[steps["episode_index"] == episode_index].reset_index(drop=True)


class EpisodeSteps:
    """The steps of an arena's episodes, loaded on demand; the file is scanned once for their offsets.

    ``folder`` is the arena's; it may play one episode after another, or several together.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "telemetry.jsonl"
        self._places: dict[int, tuple[int, int]] = {}  # start, end in bytes
        self._read = 0

    def table(self, episode_index: int) -> pd.DataFrame:
        """Return every step of one episode, as in `steps_table`; empty if there are none."""
        return _steps(self.lines(episode_index).splitlines())

    def lines(self, episode_index: int) -> bytes:
        """Return the lines of one episode's steps as written; empty if there are none."""
        self._look_on()  # an episode may have grown since
        first, end = self._places.get(episode_index, (0, 0))
        if not end:
            return b""
        with self._path.open("rb") as file:
            file.seek(first)
            lines = file.read(end - first).splitlines(keepends=True)
        marker = b'"episode_index":%d,' % episode_index
        return b"".join(line for line in lines if marker in line)

    def _look_on(self) -> None:
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            while (line := file.readline(DEFAULT_LINE_LIMIT)).endswith(b"\n"):
                end = self._read + len(line)
                if b'"step"' in line and (match := _EPISODE.search(line)):
                    first, _ = self._places.get(int(match[1]), (self._read, 0))
                    self._places[int(match[1])] = first, end
                self._read = end


def _episode_row(lane: Lane, episode: dict[str, Any]) -> dict[str, Any]:
    operators = lane.assignment.operators.values() if lane.assignment else ()
    returns: dict[str, float] = episode["returns"]
    return {
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
        **agent_returns(returns),
    }


def _steps(lines: Iterable[bytes]) -> pd.DataFrame:
    """Return the steps in these lines; other lines and a truncated line are skipped."""
    rows = []
    for line in lines:
        with suppress(KeyError, ValueError):
            if (step := decode_message(line, STEP)) is not None:
                rows.append({name: step.get(name) for name in _STEPS} | {"reward": as_number(step["reward"])})
    return table_of(rows, _STEPS)
