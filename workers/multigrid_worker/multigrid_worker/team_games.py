"""mosaic-multigrid's games, for two teams or one."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .agents_at_once import AgentsAtOnce, keys_of, make_agents_at_once

_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # grid offsets by direction: right, down, left, up
_FACING = ("ahead", "right", "back", "left")  # by clockwise quarter turns from the agent's direction

Describe = Callable[[], Mapping[str, Any]]


def ids() -> list[str]:
    import mosaic_multigrid  # noqa: F401  (registers them)

    return registered("MosaicMultiGrid-")


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> AgentsAtOnce:
    return make_agents_at_once(env_id, settings, render_mode)


def facts_of(env: AgentsAtOnce, agent: str) -> EnvironmentFacts:
    from mosaic_multigrid.core.actions import Action
    from mosaic_multigrid.core.constants import Color

    number = env.number_of(agent)
    player = env.unwrapped.agents[number]
    colour = Color.from_index(player.team_index % len(Color))  # agents receive theirs at the first reset
    return EnvironmentFacts(
        [action.name for action in Action],
        keys_of(Action, number),
        f"team_{player.team_index}",
        instructions=f"Your team's colour is {colour.value}.",
        describe=description_for(env, agent),
    )


def description_for(game: Any, agent: str) -> Describe:
    """Return a function that describes a game (`AgentsAtOnce`) to an agent.

    {"teammates": {agent: {"ahead", "right": steps relative to the agent's direction, or negative, "facing":
    "ahead" | "right" | "back" | "left", where "ahead" is the agent's own direction, "carries": {"kind",
    "colour"} or None}}, "scores": {team: goals or balls}}; without "scores" if the game keeps none.
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
            "teammates": {name: _relative_state(me, mate) for name, mate in mates.items()}
        }
        if scores := getattr(inner, "team_scores", None):
            described["scores"] = {f"team_{team}": float(score) for team, score in sorted(scores.items())}
        return described

    return describe


def _relative_state(observer: Any, other: Any) -> dict[str, Any]:
    direction = int(observer.state.dir)
    dx, dy = (int(end) - int(start) for start, end in zip(observer.state.pos, other.state.pos))
    ahead, right = (dx * x + dy * y for x, y in (_STEPS[direction], _STEPS[(direction + 1) % 4]))
    carried = other.state.carrying
    return {
        "ahead": ahead,
        "right": right,
        "facing": _FACING[(int(other.state.dir) - direction) % 4],
        "carries": carried and {"kind": str(carried.type.value), "colour": str(carried.color.value)},
    }
