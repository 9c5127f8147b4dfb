"""The environments of the package multigrid: grids like MiniGrid's, for any number of agents."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .agents_at_once import AgentsAtOnce, make_agents_at_once
from .grid_view import view_of
from .keys import keys_of

_ABOUT = (
    "You are one of {count} on a grid, and all act at once. You see a part of the grid in front of you. Left"
    " and right turn you, forward moves you the way you look; pickup, drop and toggle (which opens doors and"
    " boxes) act on what is right in front of you. The mission stands beside what you see."
)


def ids() -> list[str]:
    import multigrid.envs  # noqa: F401  (registers them)

    return registered("MultiGrid-")


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> AgentsAtOnce:
    env = make_agents_at_once(env_id, {"agents": 2, **settings}, render_mode)
    inner = env.unwrapped
    inner._RandomMixin__np_random = _SeededGenerator(inner)
    return env


def facts_of(env: AgentsAtOnce, agent: str) -> EnvironmentFacts:
    from multigrid.core.actions import Action

    number = env.number_of(agent)
    return EnvironmentFacts(
        [action.name for action in Action],
        keys_of(Action, number),
        team="",
        instructions=_ABOUT.format(count=len(env.possible_agents)),
        describe=lambda: {"text": view_of(env.unwrapped, number)},
    )


class _SeededGenerator:
    """The generator that an environment has now. Upstream lays its grids with the one that it was made with,
    which no seed of a reset governs."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner.np_random, name)
