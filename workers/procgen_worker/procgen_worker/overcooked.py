"""Overcooked: two cooks who act simultaneously in a kitchen with one of upstream's layouts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts
from mosaic_contract.upstream import upstream_folder

_PREFIX = "overcooked/"
_OTHER_SIZES = ("_single", "multiplayer_")  # layouts for one cook, or for more than two
_NAMES = ("north", "south", "east", "west", "stay", "interact")
_KEYS = (
    ("ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft", "0", " "),
    ("w", "s", "d", "a", "1", "e"),  # of the second cook, for two people at one keyboard
)
_INSTRUCTIONS = (
    "You are one of two cooks in a kitchen. Put ingredients (onions, in some kitchens tomatoes) into a pot, "
    "start cooking it where that does not begin by itself, take a dish, fill it with the soup that is done, "
    "and serve it. Both get the reward for a soup. To use what is next to you, face it by moving towards it, "
    "and interact."
)


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    layouts = (upstream_folder("overcooked_ai_py") / "data" / "layouts").glob("*.layout")
    names = sorted(path.stem for path in layouts)
    return tuple(f"{_PREFIX}{name}" for name in names if not any(word in name for word in _OTHER_SIZES))


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    from .kitchen import Kitchen

    return Kitchen(env_id, env_id.removeprefix(_PREFIX), settings)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    keys = _KEYS[env.possible_agents.index(agent)]
    return EnvironmentFacts(
        list(_NAMES),
        {key: number for number, key in enumerate(keys)},
        "cooks",
        instructions=_INSTRUCTIONS,
        describe=lambda: {"text": env.described(agent)},
        packages=("overcooked-ai",),
    )
