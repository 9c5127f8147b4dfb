"""Another worker's environment in the process of a training: `hand_installed:make`.

Works as if that worker's packages were installed beside the training's own, which take precedence.
HAND_INSTALLED has the worker's name, the folder of its packages and the environment's id.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

_WORKER, _PACKAGES, _ENV_ID = os.environ["HAND_INSTALLED"].split(os.pathsep)
sys.path.append(_PACKAGES)


def make(render_mode: str | None = None) -> Any:
    env = import_module(f"{_WORKER}_worker.cli").WORKER.make_environment(_ENV_ID, {}, render_mode)
    if hasattr(env, "possible_agents"):
        env.metadata = {}
        env.reset = lambda seed=None, options=None, reset=env.reset: reset(seed=seed)
    return env
