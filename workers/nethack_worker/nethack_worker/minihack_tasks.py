"""MiniHack: small navigation and skill tasks built from NetHack's levels."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts

_UNAVAILABLE = ("Boxoban", "CrossingS")  # the first downloads its levels; the second needs an older MiniGrid
_CUSTOM = "-Custom-"  # a user-defined level
_SKILLS = re.compile(r"MiniHack-(Eat|Pray|Sink|Wield|Wear|PutOn|Zap|Read|Closed|Locked)")
_GAME = "You play a small level of NetHack, MiniHack's task {name}."


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    import gymnasium
    import minihack  # noqa: F401  (registers them)

    tasks = (name for name in gymnasium.registry if name.startswith("MiniHack-"))
    return tuple(name for name in tasks if not any(part in name for part in _UNAVAILABLE))


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    if _CUSTOM in env_id and not settings.get("des_file"):
        raise ConfigError(
            f'{env_id} is made of a level of your own: give env_kwargs={{"des_file": …}}, the path of its '
            "file or its text (for example of minihack.LevelGenerator's get_des())"
        )
    from .environment import NetHackEnvironment

    return NetHackEnvironment(env_id, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    from .facts import game_facts

    name = env.spec.id.removeprefix("MiniHack-").rpartition("-v")[0]
    goal = "Its name says what to do." if _SKILLS.match(env.spec.id) else "Reach the staircase down (>)."
    return game_facts(env, f"{_GAME.format(name=name)} {goal}")
