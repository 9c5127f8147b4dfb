"""Makes environments. Imports nothing of the contract: it also runs on machines of a cluster that lack it."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Mapping

from .turns import TurnGame


def make_environment(
    module: str | None, env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None
) -> Any:
    """Make the parallel environment of a PettingZoo module, by its name, or its game in turns, or the
    environment of Gymnasium with this id.

    Raises whatever the environment's own code raises.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if module is not None:
            made = importlib.import_module(module)
            if hasattr(made, "parallel_env"):
                return made.parallel_env(render_mode=render_mode, **keywords)
            return TurnGame(made.env(render_mode=render_mode, **keywords))
        return importlib.import_module("gymnasium").make(env_id, render_mode=render_mode, **keywords)
