"""The registry of environments: ids that packages register with Gymnasium only when they are imported,
classes in users' modules, and the id of an environment that another worker serves to this training.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, Mapping

_GAMES = "ale_py"
_SERVER = "MOSAIC_ENVIRONMENT_SERVER"  # the environment variable, which the training's processes inherit
_MAX_PROCESSES = 4
_VERSION = re.compile(r"-v\d+$")
_PACKAGES = {r"(MiniGrid|BabyAI)-.*": "minigrid", r"ALE/.*|\w+NoFrameskip-v\d": _GAMES}


def assign(env_id: str, server: Mapping[str, Any]) -> None:
    """Have the environment `env_id` served, in this process and in those that it starts.

    `server` is the `environment_server` of the training's configuration, with the `paradigms` of environments
    that it can train in.
    """
    os.environ[_SERVER] = json.dumps({"env_id": env_id, **server})


def assigned(env_id: str) -> Mapping[str, Any] | None:
    """Return the server of the environment `env_id`, None if it is made in this process."""
    server = json.loads(os.environ.get(_SERVER, "{}"))
    return server if server.get("env_id") == env_id else None


def max_processes() -> int:
    """Return the default number of processes of a training's server: one per CPU core, at most 4."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MAX_PROCESSES, cores)


def variables_of_server() -> dict[str, str]:
    """Return the environment variables of a server, which has no server of its own."""
    return {name: value for name, value in os.environ.items() if name != _SERVER}


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


def user_maker(env_id: str) -> Any:
    """Return the class or function of a user's module that an id "module:name" names. None if there is none,
    or if the module registers an environment of this name with Gymnasium."""
    module, _, name = env_id.rpartition(":")
    maker = None
    with suppress(ModuleNotFoundError):  # gymnasium.make reports it
        maker = getattr(import_module(module), name, None) if module else None
    return maker if callable(maker) and name not in import_module("gymnasium").registry else None


def make(env_id: str, render_mode: str | None = None, **settings: Any) -> Any:
    """Make a Gymnasium environment by its id, or a Gymnasium or PettingZoo environment by its `user_maker`.
    If the training has a server for the id, another worker serves it, teams included.

    Gymnasium's own checker is disabled, because `environment_check` replaces it. Raises the errors of
    `gymnasium.make`, and `ConfigError` if the server cannot make it.
    """
    if (server := assigned(env_id)) is not None:
        served = import_module("mosaic_contract.environment_server.served")
        return served.make_served(server, env_id, settings, render_mode)
    register(env_id)
    if render_mode is not None:  # an environment without rendering may not have this keyword
        settings["render_mode"] = render_mode
    if (maker := user_maker(env_id)) is not None:
        return maker(**settings)
    return import_module("gymnasium").make(env_id, disable_env_checker=True, **settings)


def similar_id(env_id: str) -> str | None:
    """Return the newest version of the environment in Gymnasium's registry with the nearest name. None if no
    name is near, or if that is the id itself."""
    module, colon, name = env_id.rpartition(":")
    versions: dict[str, list[str]] = {}
    for registered in sys.modules["gymnasium"].registry if "gymnasium" in sys.modules else ():
        versions.setdefault(_VERSION.sub("", registered), []).append(registered)
    near = difflib.get_close_matches(_VERSION.sub("", name), versions, n=1)
    newest = max(versions[near[0]], key=lambda registered: (len(registered), registered)) if near else name
    return None if newest == name else f"{module}{colon}{newest}"


def is_atari_game(env_id: str) -> bool:
    """Return whether an id is an Atari game, such as ALE/Pong-v5 or PongNoFrameskip-v4."""
    return _package(env_id) == _GAMES


def _package(env_id: str) -> str | None:
    return next((package for ids, package in _PACKAGES.items() if re.fullmatch(ids, env_id)), None)
