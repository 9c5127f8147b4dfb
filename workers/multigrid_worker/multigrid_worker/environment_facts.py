"""The names of mosaic-multigrid's actions, the keys that choose them, and the teams of the agents."""

from __future__ import annotations

from typing import Any

from mosaic_contract.arena import EnvironmentFacts

from .team_state import description_for

_KEYS = {
    "noop": "0",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "forward": "ArrowUp",
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_SECOND = {  # of the second agent, for two people at one keyboard
    "noop": "1",
    "left": "a",
    "right": "f",
    "forward": "w",
    "pickup": "e",
    "drop": "q",
    "toggle": "r",
    "done": "t",
}


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return the facts of one agent of a game from `environments.make`."""
    from mosaic_multigrid.core.actions import Action
    from mosaic_multigrid.core.constants import Color

    keys = _SECOND if env.possible_agents.index(agent) == 1 else _KEYS
    player = env.unwrapped.agents[env.possible_agents.index(agent)]
    colour = Color.from_index(player.team_index % len(Color))  # agents get theirs at the first reset only
    return EnvironmentFacts(
        [action.name for action in Action],
        {keys[action.name]: int(action) for action in Action},
        f"team_{player.team_index}",
        instructions=f"Your team's colour is {colour.value}.",
        describe=description_for(env, agent),
    )
