"""Crafter with Gymnasium's interface."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts

_REWARDED = {"CrafterReward-v1": True, "CrafterNoReward-v1": False}
_KEYS = {  # as in upstream's program, and the arrows; its Tab would move the focus in a page
    "noop": ("n",),
    "move_left": ("ArrowLeft", "a"),
    "move_right": ("ArrowRight", "d"),
    "move_up": ("ArrowUp", "w"),
    "move_down": ("ArrowDown", "s"),
    "do": (" ",),
    "sleep": ("z",),
    "place_stone": ("r",),
    "place_table": ("t",),
    "place_furnace": ("f",),
    "place_plant": ("p",),
    "make_wood_pickaxe": ("1",),
    "make_stone_pickaxe": ("2",),
    "make_iron_pickaxe": ("3",),
    "make_wood_sword": ("4",),
    "make_stone_sword": ("5",),
    "make_iron_sword": ("6",),
}
_INSTRUCTIONS = (
    "You play Crafter, a game of survival seen from above: collect wood, stone, coal, iron and diamonds, "
    "build tools, eat, drink, sleep, and fight monsters. Each of these counts once in an episode: "
)


def ids() -> tuple[str, ...]:
    return tuple(_REWARDED)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    from .crafter_environment import CrafterEnvironment

    return CrafterEnvironment(env_id, _REWARDED[env_id], settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    import crafter

    names = list(env.game.action_names)
    achievements = ", ".join(name.replace("_", " ") for name in crafter.constants.achievements)
    return EnvironmentFacts(
        [name.replace("_", " ") for name in names],
        {key: number for number, name in enumerate(names) for key in _KEYS.get(name, ())},
        instructions=f"{_INSTRUCTIONS}{achievements}.",
        describe=env.described,
        packages=("crafter",),
    )
