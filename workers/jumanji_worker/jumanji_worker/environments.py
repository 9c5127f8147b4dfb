"""Jumanji's environments: their ids, the trainable ones, and their creation.

Ids are Jumanji's own, with or without the family: "Snake-v1", "jumanji/Snake-v1". They are read from its
source text: upstream is not imported before an environment is made.
"""

from __future__ import annotations

import ast
import difflib
import functools
import re
from typing import Any, Mapping

from mosaic_contract import ConfigError, upstream_folder
from mosaic_contract.arena import check_settings

TRAINED = {  # environment: its configuration in upstream
    "Snake-v1": "snake",
    "Game2048-v1": "game_2048",
    "TSP-v1": "tsp",
    "CVRP-v1": "cvrp",
    "BinPack-v2": "bin_pack",
    "Maze-v0": "maze",
    "Connector-v3": "connector",
}
_FAMILY = "jumanji/"
_MIN_SIMILARITY = 0.7  # minimum similarity, from 0 to 1, of a suggested id
_TEAMS = ("Connector", "LevelBasedForaging", "SearchAndRescue")  # one reward for each of several agents
_SOKOBAN = "Sokoban"


@functools.cache
def known() -> list[str]:
    """Return the ids of all environments."""
    tree = ast.parse((upstream_folder("jumanji") / "__init__.py").read_text(encoding="utf-8"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    registered = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "register")
    return sorted(
        ast.literal_eval(keyword.value)
        for call in registered
        for keyword in call.keywords
        if keyword.arg == "id"
    )


def bare(env_id: str) -> str:
    """Return upstream's own id. Raises `ConfigError` for an unknown id, with the nearest known one."""
    name = env_id.removeprefix(_FAMILY)
    if name not in known():
        raise ConfigError(f"Jumanji has no environment {env_id!r}{_nearest(name)}")
    return name


def _nearest(name: str) -> str:
    """Return the end of an error about an unknown id; ids are compared without versions."""
    ids = {_without_version(upstream_id): upstream_id for upstream_id in known()}
    near = difflib.get_close_matches(_without_version(name), ids, n=1, cutoff=_MIN_SIMILARITY)
    return f"; did you mean {ids[near[0]]!r}?" if near else f"; it has {', '.join(known())}"


def _without_version(name: str) -> str:
    """Return an id in lower case without its version."""
    return re.sub(r"-v\d+$", "", name.lower())


def make(env_id: str, settings: Mapping[str, Any]) -> Any:
    """Make an environment, with `settings` as keywords of its class, one reward and one discount. Raises
    `ConfigError` for unknown ids and settings."""
    import jumanji
    from jumanji import environments
    from jumanji.wrappers import MultiToSingleWrapper

    name = bare(env_id)
    class_name = name.partition("-")[0]
    check_settings(name, settings, getattr(environments, class_name))
    settings = dict(settings)
    if class_name == _SOKOBAN:  # its own levels are downloaded from a hub
        from jumanji.environments.routing.sokoban.generator import ToyGenerator

        settings.setdefault("generator", ToyGenerator())
    env = jumanji.make(name, **settings)
    return MultiToSingleWrapper(env) if class_name in _TEAMS else env
