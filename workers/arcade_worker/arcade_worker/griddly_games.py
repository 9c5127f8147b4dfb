"""Griddly: single-player grid games with an avatar."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping

from mosaic_contract.arena import EnvironmentFacts
from mosaic_contract.upstream import upstream_folder

if TYPE_CHECKING:
    from .griddly_environment import GriddlyEnvironment

_KEYS = {  # by a part of the action's name; the first match counts
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "up": "ArrowUp",
    "forward": "ArrowUp",
    "down": "ArrowDown",
    "back": "ArrowDown",
    "nothing": "0",
}
_SPARE_KEYS = " qwertyuiop"  # keys of the remaining actions


def ids() -> list[str]:
    return sorted(_games())


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> GriddlyEnvironment:
    from .griddly_environment import GriddlyEnvironment

    return GriddlyEnvironment(env_id, _games()[env_id], settings, render_mode)


def facts_of(env: GriddlyEnvironment, agent: str) -> EnvironmentFacts:
    return EnvironmentFacts(
        env.names,
        _keys_of(env.names),
        instructions=f"You play {env.title}. {env.summary} You move the {env.avatar}.",
        describe=lambda: {"text": env.described()},
        packages=("griddly",),
    )


def _keys_of(names: list[str]) -> dict[str, int]:
    keys: dict[str, int] = {}
    spare = iter(_SPARE_KEYS)
    for number, name in enumerate(names):
        key = next((key for part, key in _KEYS.items() if part in name and key not in keys), None)
        if key := key or next(spare, None):
            keys[key] = number
    return keys


@lru_cache(maxsize=None)
def _games() -> dict[str, Path]:
    """Return the files of single-player games with an avatar, by upstream's ids."""
    import yaml

    files = {}
    for file in (upstream_folder("griddly") / "resources" / "games").rglob("*.yaml"):
        environment = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)["Environment"]
        player = environment.get("Player", {})
        if "AvatarObject" in player and player.get("Count", 1) == 1:
            files[f"GDY-{environment['Name'].replace(' ', '-')}-v0"] = file
    return files
