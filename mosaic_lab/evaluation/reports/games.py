"""Evaluations as games: pairings, winners and ratings.

A player is an operator, identified by name, whichever agents it acts for. The player with the higher return,
summed over its agents, wins; if an agent has forfeited, the other player wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mosaic_contract import decode_line

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.statistics.ratings import elo, win_draw_loss
from mosaic_lab.keeper.files import open_file

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.estimate_table import Estimates

_FIRST_LINE = 1 << 20  # maximum number of bytes
_NO_AGENTS = ("evaluation", "operator", "seed", "episode_index", "winner", "result")  # columns
_PLAYER = "see policies.pairings, or name operators apart with .with_(name=...)"


def games_table(records: Sequence[Record], arena_path: Callable[[str], Path]) -> pd.DataFrame:
    """Return one row per completed episode: operator (the lane), seed, episode_index; each agent's player, in
    a column named after the agent; ``winner``, None for a draw; and ``result``, 1, 0.5 or 0 for the first
    agent's player. ``arena_path`` returns the folder of an arena by its name in a record.

    Raises ConfigurationError unless there are two players.
    """
    import pandas as pd

    seats: dict[str, dict[str, str]] = {}
    rows = []
    for record in records:
        if record["status"] != "ok":
            continue
        lane = record["operator"]
        if lane not in seats:
            seats[lane] = _players(lane, arena_path(record["arena"]) / "telemetry.jsonl")
        rows.append(_row(record, seats[lane]))
    agents = dict.fromkeys(agent for players in seats.values() for agent in players)
    columns = ["operator", "seed", "episode_index", *agents, "winner", "result"]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return table.astype({"seed": "int64", "episode_index": "int64", "result": "float64"})


def ratings_table(games: pd.DataFrame, rng: int) -> Estimates:
    """Return one row per player, strongest first: rating (Elo) with its interval; games, wins, draws, losses;
    and the shares ``win``, ``draw`` and ``loss`` with their Wilson intervals. ``games`` is a `games_table`.

    ``attrs`` has ``rng``, and ``regularised``, whether a drawn game was added to each pair (see `elo`).
    """
    from mosaic_lab.evaluation.reports.estimate_table import estimates_table

    if not len(games):
        raise ConfigurationError("no game has been played to its end yet")
    agents = [name for name in games if name not in _NO_AGENTS]
    players = [_in_order(row) for row in games[agents].to_numpy().tolist()]
    first, second = ([pair[side] for pair in players] for side in (0, 1))
    results = games["result"].to_numpy(np.float64)
    ratings = elo(first, second, results, rng=np.random.default_rng(rng))
    rows: list[dict[str, Any]] = []
    for player, rating in zip(ratings.players, ratings.ratings, strict=True):
        scores = np.concatenate(
            [results[np.array(first) == player], 1.0 - results[np.array(second) == player]]
        )
        record = win_draw_loss(scores)
        counts = {field.name: getattr(record, field.name) for field in fields(record)}
        rows.append({"player": player, "rating": rating, **counts})
    rows.sort(key=lambda row: row["rating"].value, reverse=True)
    return estimates_table(rows, "player", rng=rng, regularised=ratings.regularised)


def _players(lane: str, telemetry: Path) -> dict[str, str]:
    """Return the player of each agent, from the first line of the arena's telemetry."""
    try:
        with open_file(telemetry) as file:
            config = decode_line(file.readline(_FIRST_LINE))["payload"]["config"]
        names = {str(key): str(operator["name"]) for key, operator in config["operators"].items()}
        players = {str(agent): names[key] for agent, key in config["seats"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MosaicError(f"who played for {lane} cannot be read from {telemetry}: {error!r}") from None
    if twice := [name for name, times in Counter(names.values()).items() if times > 1]:
        raise ConfigurationError(f"{lane}: two operators are called {twice[0]!r}; {_PLAYER}")
    if len(names) == len(players) == 1:
        raise ConfigurationError(f"{lane}: only one agent plays, and ratings and games need two")
    if len(names) != 2:
        listed = ", ".join(names.values())
        raise ConfigurationError(f"{lane}: a game has two players, not {len(names)} ({listed}); {_PLAYER}")
    return players


def _row(record: Record, players: Mapping[str, str]) -> dict[str, Any]:
    first, second = _in_order(list(players.values()))
    scores = dict.fromkeys((first, second), 0.0)
    for agent, value in record["returns"].items():
        scores[players[agent]] += value
    ahead = scores[first] - scores[second]
    if record.get("forfeit") is not None:
        ahead = -1.0 if players[record["forfeit"]] == first else 1.0
    return {
        "operator": record["operator"],
        "seed": record["seed"],
        "episode_index": record["episode"],
        **players,
        "winner": first if ahead > 0 else second if ahead < 0 else None,
        "result": 0.5 + 0.5 * float(np.sign(ahead)),
    }


def _in_order(names: Sequence[str]) -> tuple[str, str]:
    """Return the two players, the first agent's first."""
    first, second = dict.fromkeys(names)
    return first, second
