"""PettingZoo's environments by id, for shims that make them.

An id is the name of the environment's module, with or without its family: "simple_spread_v3" and
"mpe2/simple_spread_v3" both mean the module mpe2.simple_spread_v3. A user's module with `parallel_env` or
`env` is named as it is imported: "my_team_v0", "my_package.my_team_v0".
"""

from __future__ import annotations

import pkgutil
import re
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mosaic_contract.errors import ConfigError
from mosaic_contract.registry import assigned

_PACKAGES = {  # by family
    "classic": "pettingzoo.classic",
    "butterfly": "pettingzoo.butterfly",
    "sisl": "pettingzoo.sisl",
    "mpe2": "mpe2",
}
_ALIASES = {"mpe": "mpe2"}  # its name when it was a part of PettingZoo
_VERSIONED = re.compile(r"\w+_v\d+")
_OBSERVED_AS_DRAWN = ("pettingzoo.butterfly.cooperative_pong_", "pettingzoo.butterfly.pistonball_")


def pettingzoo_ids() -> list[str]:
    """Return the ids of all installed environments of PettingZoo and mpe2, including their families."""
    return [f"{family}/{name}" for family in _PACKAGES for name in _names(family)]


def pettingzoo_module(env_id: str) -> str | None:
    """Return the name of an environment's module, None for an id that is not a PettingZoo environment or that
    another worker serves. The environment is not imported."""
    if assigned(env_id) is not None:
        return None
    family, _, name = env_id.rpartition("/")
    families = [_ALIASES.get(family, family)] if family else _PACKAGES
    full_id = next((f"{_PACKAGES[package]}.{name}" for package in families if name in _names(package)), None)
    return full_id or (env_id if _is_own_module(env_id) else None)


def _is_own_module(env_id: str) -> bool:
    if not re.fullmatch(rf"(\w+\.)*{_VERSIONED.pattern}", env_id):
        return False
    try:
        return find_spec(env_id) is not None
    except ImportError:  # from importing the package before the dot
        return False


@lru_cache(maxsize=None)
def _names(family: str) -> list[str]:
    library, *inner = _PACKAGES.get(family, "").split(".")
    spec = find_spec(library) if library else None
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(next(iter(spec.submodule_search_locations)), *inner)
    return sorted(name for _, name, _ in pkgutil.iter_modules([str(folder)]) if _VERSIONED.fullmatch(name))


def parallel_module(env_id: str) -> Any:
    """Return the imported module of a parallel environment, None for an id that is not a PettingZoo
    environment.

    Raises `ConfigError` for an environment without a parallel interface, and any error of its import.
    """
    name = pettingzoo_module(env_id)
    module = None if name is None else import_module(name)
    if module is not None and not hasattr(module, "parallel_env"):
        raise ConfigError(f"{env_id} is played in turns; this worker has parallel environments only")
    return module


def required_render_mode(module: str, render_mode: str | None) -> str | None:
    """Return the render mode with which to make the environment of a module. The agents of some observe the
    picture, which is drawn only if there is a render mode."""
    return render_mode or ("rgb_array" if module.startswith(_OBSERVED_AS_DRAWN) else None)
