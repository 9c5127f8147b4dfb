"""Gymnasium's registry: ids of packages that register their environments only once they are imported."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

_GAMES = "ale_py"
_PACKAGES = {r"(MiniGrid|BabyAI)-.*": "minigrid", r"ALE/.*|\w+NoFrameskip-v\d": _GAMES}


def register(env_id: str) -> None:
    """Import the package that registers an id, if it is known and installed; making the environment fails
    where it is not.
    """
    package = _package(env_id)
    if package is None or env_id in import_module("gymnasium").registry:
        return
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise


def make(env_id: str, render_mode: str | None = None, **settings: Any) -> Any:
    """Make an environment of Gymnasium without Gymnasium's own check: that of `environment_check` is in its
    place. Raises what `gymnasium.make` raises.
    """
    register(env_id)
    if render_mode is not None:  # an environment that cannot be drawn may have no such keyword
        settings["render_mode"] = render_mode
    return import_module("gymnasium").make(env_id, disable_env_checker=True, **settings)


def is_game(env_id: str) -> bool:
    """Return whether an id is that of an Atari game: ALE/Pong-v5, PongNoFrameskip-v4."""
    return _package(env_id) == _GAMES


def _package(env_id: str) -> str | None:
    return next((package for ids, package in _PACKAGES.items() if re.fullmatch(ids, env_id)), None)
