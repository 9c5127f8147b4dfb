"""The environments by family and task, and the classes that make them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypeAlias

if TYPE_CHECKING:
    from .text_environment import TextEnvironment

Made: TypeAlias = "tuple[type[TextEnvironment], Sequence[Any]]"
Maker = Callable[[str], Made]
"""From a task to the class that makes it, with the first arguments; the user's settings are keywords."""


def _babyai(task: str) -> Made:
    from .babyai import BabyAI

    return BabyAI, [task]


def _crafter(task: str) -> Made:
    from .crafter import Crafter

    return Crafter, []


def _textworld(task: str) -> Made:
    from .textworld import TextWorld

    return TextWorld, [task]


def _nethack(task: str) -> Made:
    from .nethack import NetHack

    return NetHack, [task]


def _minihack(task: str) -> Made:
    from .nethack import MiniHack

    return MiniHack, [task]


@lru_cache(maxsize=None)
def _registered(prefix: str, module: str) -> tuple[str, ...]:
    import importlib

    import gymnasium

    importlib.import_module(module)
    return tuple(sorted(name for name in gymnasium.registry if name.startswith(prefix)))


def _minihack_tasks() -> Sequence[str]:
    """Return MiniHack's tasks without Boxoban's, whose levels are not in the package."""
    return [name for name in _registered("MiniHack-", "minihack") if "Boxoban" not in name]


FAMILIES: Mapping[str, tuple[Callable[[], Sequence[str]], Maker]] = {
    "babyai": (lambda: ("goto", "pickup", "open", "putnext", "pick_up_seq_go_to"), _babyai),
    "crafter": (lambda: ("",), _crafter),
    "textworld": (lambda: ("treasure_hunter", "the_cooking_game", "coin_collector"), _textworld),
    "nle": (lambda: _registered("NetHack", "nle"), _nethack),
    "minihack": (_minihack_tasks, _minihack),
}
