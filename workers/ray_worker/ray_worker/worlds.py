"""Environments: Gymnasium's by their ids, PettingZoo's parallel worlds by their modules.

A world is called by its module, with or without its family: "simple_spread_v3" is "mpe2/simple_spread_v3";
those of PettingZoo's own families need theirs ("sisl/multiwalker_v9"). Runners make them too, on machines
where nothing of ours is installed: nothing of the contract is imported here.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from typing import Any, Mapping


class InTurns(Exception):
    """A world of PettingZoo in which agents act one after another."""


def make(env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None) -> Any:
    """The environment: Gymnasium's, or a parallel one of PettingZoo. Raises `InTurns` for another of
    PettingZoo's, and what its own code raises.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = _module(env_id)
        if hasattr(module, "env") and not hasattr(module, "parallel_env"):
            raise InTurns(f"{env_id} is played in turns, this worker trains on parallel worlds only")
        if module is not None:
            return module.parallel_env(render_mode=render_mode, **keywords)
        return importlib.import_module("gymnasium").make(env_id, render_mode=render_mode, **keywords)


def _module(env_id: str) -> Any:
    """The module of a PettingZoo world, None where the id is none."""
    family, _, name = env_id.rpartition("/")
    package = "mpe2" if family in ("", "mpe2") else f"pettingzoo.{family}"
    if not f"{family}{name}".isidentifier():
        return None
    try:
        if importlib.util.find_spec(f"{package}.{name}") is None:
            return None
    except ModuleNotFoundError:  # there is no such family
        return None
    return importlib.import_module(f"{package}.{name}")
