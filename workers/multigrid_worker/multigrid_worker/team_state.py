"""Positions of an agent's teammates, and the scores: what an agent may know of a game beside its view."""

from __future__ import annotations

from typing import Any, Callable, Mapping

_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # on the grid, by direction: right, down, left, up
_FACING = ("ahead", "right", "back", "left")  # by quarter turns to the right, from the agent's direction

Describe = Callable[[], Mapping[str, Any]]


def description_for(game: Any, agent: str) -> Describe:
    """Return a function that describes a game (`AgentsAtOnce`) to an agent.

    {"teammates": {agent: {"ahead", "right": steps relative to the agent's direction, or negative,
    "facing": "ahead" | "right" | "back" | "left", where "ahead" is the agent's own direction, "carries":
    {"kind", "colour"} or None}}, "scores": {team: goals or balls}}; without "scores" where none are kept.
    """
    inner = game.unwrapped
    players = dict(zip(game.possible_agents, inner.agents))
    me = players[agent]
    mates = {
        name: player
        for name, player in players.items()
        if name != agent and player.team_index == me.team_index
    }

    def describe() -> Mapping[str, Any]:
        described: dict[str, Any] = {
            "teammates": {name: _seen_from(me, mate) for name, mate in mates.items()}
        }
        if scores := getattr(inner, "team_scores", None):
            described["scores"] = {f"team_{team}": float(score) for team, score in sorted(scores.items())}
        return described

    return describe


def _seen_from(me: Any, other: Any) -> dict[str, Any]:
    direction = int(me.state.dir)
    across, down = (int(theirs) - int(mine) for mine, theirs in zip(me.state.pos, other.state.pos))
    ahead, right = (across * x + down * y for x, y in (_STEPS[direction], _STEPS[(direction + 1) % 4]))
    carried = other.state.carrying
    return {
        "ahead": ahead,
        "right": right,
        "facing": _FACING[(int(other.state.dir) - direction) % 4],
        "carries": carried and {"kind": str(carried.type.value), "colour": str(carried.color.value)},
    }
