"""BALROG's environments, as text for language models and with their usual observations for other operators.
Ids are "balrog/<family>/<task>". Libraries are imported when one of their environments is created."""

from __future__ import annotations

import difflib
import importlib
from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence, TypeAlias

import gymnasium
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from .text_environment import TextEnvironment

PREFIX = "balrog/"
EnvironmentCall: TypeAlias = "tuple[type[TextEnvironment], Sequence[Any]]"
Maker = Callable[[str], EnvironmentCall]
"""Maps a task to its class and first arguments; the user's settings are keywords."""


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TextEnvironment:
    """Return the environment. Raises `ConfigError` for an unknown id, with the nearest known ones, and for
    unknown settings.
    """
    family, _, task = env_id.removeprefix(PREFIX).partition("/")
    if not env_id.startswith(PREFIX) or family not in FAMILIES:
        raise _unknown(env_id)
    tasks, maker = FAMILIES[family]
    if task not in tasks():
        raise _unknown(env_id)
    environment_class, arguments = maker(task)
    check_settings(env_id, settings, environment_class)
    if render_mode not in (None, *environment_class.metadata["render_modes"]):
        raise ValueError(f"{family} is played in text only")
    return environment_class(*arguments, **settings)


def known() -> list[str]:
    """Return the ids of all environments."""
    return [
        f"{PREFIX}{family}/{task}" if task else f"{PREFIX}{family}"
        for family, (tasks, _) in FAMILIES.items()
        for task in tasks()
    ]


def facts_of(env: TextEnvironment, agent: str) -> EnvironmentFacts:
    """Return an environment's information about itself."""
    return EnvironmentFacts(
        action_meanings=env.action_names, instructions=env.instructions, describe=env.description
    )


def _unknown(env_id: str) -> ConfigError:
    near = difflib.get_close_matches(env_id, known(), n=3)
    return ConfigError(
        f"BALROG's worker has no environment {env_id!r}."
        + (f" Did you mean {' or '.join(near)}?" if near else "")
        + " `mosaic-lab workers list balrog` lists all"
    )


def _babyai(task: str) -> EnvironmentCall:
    from .babyai import BabyAI

    return BabyAI, [task]


def _crafter(task: str) -> EnvironmentCall:
    from .crafter import Crafter

    return Crafter, []


def _textworld(task: str) -> EnvironmentCall:
    from .textworld import TextWorld

    return TextWorld, [task]


def _nethack(task: str) -> EnvironmentCall:
    from .nethack import NetHack

    return NetHack, [task]


def _minihack(task: str) -> EnvironmentCall:
    from .nethack import MiniHack

    return MiniHack, [task]


@lru_cache(maxsize=None)
def _registered(prefix: str, module: str) -> tuple[str, ...]:
    importlib.import_module(module)
    return tuple(sorted(name for name in gymnasium.registry if name.startswith(prefix)))


def _minihack_tasks() -> Sequence[str]:
    """Return MiniHack's tasks, except Boxoban's, whose levels are not in the package."""
    return [name for name in _registered("MiniHack-", "minihack") if "Boxoban" not in name]


FAMILIES: Mapping[str, tuple[Callable[[], Sequence[str]], Maker]] = {
    "babyai": (lambda: ("goto", "pickup", "open", "putnext", "pick_up_seq_go_to"), _babyai),
    "crafter": (lambda: ("",), _crafter),
    "textworld": (lambda: ("treasure_hunter", "the_cooking_game", "coin_collector"), _textworld),
    "nle": (lambda: _registered("NetHack", "nle"), _nethack),
    "minihack": (_minihack_tasks, _minihack),
}
