"""Gymnasium's registry: ids of packages that register their environments only once they are imported."""

from __future__ import annotations

from importlib import import_module

_PACKAGES = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}


def register(env_id: str) -> None:
    """Import the package that registers an id, if it is known and installed; making the environment fails
    where it is not.
    """
    package = next((package for prefix, package in _PACKAGES.items() if env_id.startswith(prefix)), None)
    if package is None or env_id in import_module("gymnasium").registry:
        return
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
