"""mosaic-multigrid's games: two teams, or one alone."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .agents_at_once import AgentsAtOnce, make_agents_at_once
from .keys import keys_of
from .team_state import description_for


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
    colour = Color.from_index(player.team_index % len(Color))  # agents get theirs at the first reset only
    return EnvironmentFacts(
        [action.name for action in Action],
        keys_of(Action, number),
        f"team_{player.team_index}",
        instructions=f"Your team's colour is {colour.value}.",
        describe=description_for(env, agent),
    )
