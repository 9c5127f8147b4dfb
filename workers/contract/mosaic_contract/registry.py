"""Gymnasium's registry: ids of packages that register their environments only when they are imported."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

_GAMES = "ale_py"
_PACKAGES = {r"(MiniGrid|BabyAI)-.*": "minigrid", r"ALE/.*|\w+NoFrameskip-v\d": _GAMES}


def register(env_id: str) -> None:
    """Import the package that registers an id, if it is known and installed; otherwise making the environment
    fails."""
    package = _package(env_id)
    if package is None or env_id in import_module("gymnasium").registry:
        return
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise


def make(env_id: str, render_mode: str | None = None, **settings: Any) -> Any:
    """Make a Gymnasium environment without Gymnasium's own checker, which `environment_check` replaces.
    Raises the errors of `gymnasium.make`."""
    register(env_id)
    if render_mode is not None:  # an environment without rendering may not have this keyword
        settings["render_mode"] = render_mode
    return import_module("gymnasium").make(env_id, disable_env_checker=True, **settings)


def is_game(env_id: str) -> bool:
    """Return whether an id is an Atari game, such as ALE/Pong-v5 or PongNoFrameskip-v4."""
    return _package(env_id) == _GAMES


def _package(env_id: str) -> str | None:
    return next((package for ids, package in _PACKAGES.items() if re.fullmatch(ids, env_id)), None)
