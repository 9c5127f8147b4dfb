"""Makes environments. It also runs on machines of a cluster that lack the contract, which is imported only
where there are wrappers.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Mapping, Sequence

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
        # Gymnasium's own check costs something in every step; that of the contract is in its place. And an
        # environment that cannot be drawn may have no keyword render_mode.
        drawing = {} if render_mode is None else {"render_mode": render_mode}
        make = importlib.import_module("gymnasium").make
        return make(env_id, disable_env_checker=True, **drawing, **keywords)


def make_checked(
    module: str | None, env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None
) -> Any:
    """`make_environment` for a training, checked where the contract is installed."""
    env = make_environment(module, env_id, keywords, render_mode)
    try:
        check = importlib.import_module("mosaic_contract.environment_check")
    except ModuleNotFoundError:
        return env
    return check.checked(env, env_id)


def make_game(
    env_id: str, keywords: Mapping[str, Any], wrappers: Sequence[str], render_mode: str | None = None
) -> Any:
    """Make an Atari game to train on, or another environment of Gymnasium, with wrappers of the contract.
    Upstream's own preset for games leaves their scores as they are, and so do these.
    """
    from mosaic_contract.atari import ATARI, make
    from mosaic_contract.registry import register
    from mosaic_contract.wrappers import wrap

    register(env_id)
    env = make(env_id, wrappers, render_mode=render_mode, **keywords)
    return wrap(env, [name for name in wrappers if name != ATARI], env_id)
