"""Makes environments. Imports nothing of the contract: it also runs on machines of a cluster that lack it."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Mapping


def make_environment(
    module: str | None, env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None
) -> Any:
    """Make the parallel environment of a PettingZoo module, by its name, or that of Gymnasium with this id.

    Raises whatever the environment's own code raises.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if module is not None:
            return importlib.import_module(module).parallel_env(render_mode=render_mode, **keywords)
        return importlib.import_module("gymnasium").make(env_id, render_mode=render_mode, **keywords)
