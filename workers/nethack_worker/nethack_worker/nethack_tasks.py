"""NetHack, with the tasks of the NetHack Learning Environment."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts

_GAME = "You play NetHack, a game of exploring a dungeon of many levels."
_TASKS = {
    "NetHack": "Your score should be high.",
    "NetHackScore": "Your score should be high.",
    "NetHackChallenge": "Your score should be high. You play a random character.",
    "NetHackStaircase": "Find the staircase down (>) and step on it.",
    "NetHackStaircasePet": "Find the staircase down (>) and step on it with your pet next to you.",
    "NetHackOracle": "Find the Oracle, deeper in the dungeon, and stand next to it.",
    "NetHackGold": "Collect gold ($).",
    "NetHackEat": "Eat: hunger is what you must not have.",
    "NetHackScout": "See as much of the dungeon as you can.",
}


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    import gymnasium
    import nle  # noqa: F401  (registers them)

    return tuple(name for name in gymnasium.registry if name.startswith("NetHack"))


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    from .environment import NetHackEnvironment

    return NetHackEnvironment(env_id, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    from .facts import game_facts

    return game_facts(env, f"{_GAME} {_TASKS[env.spec.id.rpartition('-v')[0]]}")
