"""Craftax, and Craftax-Classic, a JAX implementation of Crafter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from mosaic_contract.arena import EnvironmentFacts

if TYPE_CHECKING:
    from .craftax_environment import CraftaxEnvironment

_IDS = (
    *("Craftax-Classic-Symbolic-v1", "Craftax-Classic-Pixels-v1"),
    *("Craftax-Symbolic-v1", "Craftax-Pixels-v1"),
)
_MOVES = {
    "NOOP": "q",
    "DO": " ",
    "SLEEP": "Enter",
    "PLACE_STONE": "r",
    "PLACE_TABLE": "t",
    "PLACE_PLANT": "p",
}
_KEYS = {  # upstream's, and the arrows; its Tab would move the focus in a page
    **_MOVES,
    "PLACE_FURNACE": "f",
    "MAKE_WOOD_PICKAXE": "1",
    "MAKE_STONE_PICKAXE": "2",
    "MAKE_IRON_PICKAXE": "3",
}
_CLASSIC = {"MAKE_WOOD_SWORD": "4", "MAKE_STONE_SWORD": "5", "MAKE_IRON_SWORD": "6"}
_FULL = {
    "MAKE_DIAMOND_PICKAXE": "4",
    "MAKE_WOOD_SWORD": "5",
    "MAKE_STONE_SWORD": "6",
    "MAKE_IRON_SWORD": "7",
    "MAKE_DIAMOND_SWORD": "8",
    "REST": "e",
    "ASCEND": ",",
    "DESCEND": ".",
    "MAKE_IRON_ARMOUR": "y",
    "MAKE_DIAMOND_ARMOUR": "u",
    "SHOOT_ARROW": "i",
    "MAKE_ARROW": "o",
    "CAST_FIREBALL": "g",
    "CAST_ICEBALL": "h",
    "PLACE_TORCH": "j",
    "DRINK_POTION_RED": "z",
    "DRINK_POTION_GREEN": "x",
    "DRINK_POTION_BLUE": "c",
    "DRINK_POTION_PINK": "v",
    "DRINK_POTION_CYAN": "b",
    "DRINK_POTION_YELLOW": "n",
    "READ_BOOK": "m",
    "ENCHANT_SWORD": "k",
    "ENCHANT_ARMOUR": "l",
    "MAKE_TORCH": "[",
    "LEVEL_UP_DEXTERITY": "]",
    "LEVEL_UP_STRENGTH": "-",
    "LEVEL_UP_INTELLIGENCE": "=",
    "ENCHANT_BOW": ";",
}
_DIRECTIONS = {"LEFT": ("ArrowLeft", "a"), "RIGHT": ("ArrowRight", "d"), "UP": ("ArrowUp", "w")}
_DIRECTIONS["DOWN"] = ("ArrowDown", "s")
_INSTRUCTIONS = (
    "You play {name}, a game of survival seen from above: collect materials, build tools, eat, drink, sleep,"
    " and fight monsters. Each of these counts once in an episode: {achievements}."
)


def ids() -> tuple[str, ...]:
    return _IDS


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> CraftaxEnvironment:
    from .craftax_environment import CraftaxEnvironment

    return CraftaxEnvironment(env_id, settings, render_mode)


def facts_of(env: CraftaxEnvironment, agent: str) -> EnvironmentFacts:
    names = [action.name for action in env.constants.Action]
    keys = {**_KEYS, **(_CLASSIC if env.classic else _FULL)}
    bindings = {key: number for number, name in enumerate(names) for key in _DIRECTIONS.get(name, ())}
    bindings |= {keys[name]: number for number, name in enumerate(names) if name in keys}
    achievements = ", ".join(_words(achievement.name) for achievement in env.constants.Achievement)
    game = "Craftax-Classic" if env.classic else "Craftax"
    return EnvironmentFacts(
        [_words(name) for name in names],
        bindings,
        instructions=_INSTRUCTIONS.format(name=game, achievements=achievements),
        describe=lambda: {"text": env.described()},
        packages=("craftax", "jax"),
    )


def _words(name: str) -> str:
    return name.lower().replace("_", " ")
