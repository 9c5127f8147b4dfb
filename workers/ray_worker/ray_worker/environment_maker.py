"""Creation of environments, on cluster machines too, where only wrappers need the contract."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Mapping, Sequence

from .turns import TurnGame


def make_environment(
    module: str | None, env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None
) -> Any:
    """Make a PettingZoo environment by its module's name, or the Gymnasium or served environment with this
    id. A turn-based game becomes a `TurnGame`. Raises the environment's own errors."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if module is not None:
            game = importlib.import_module(module)
            if (ids := _contract_module("pettingzoo_ids")) is not None:
                render_mode = ids.required_render_mode(module, render_mode)
            if hasattr(game, "parallel_env"):
                return game.parallel_env(render_mode=render_mode, **keywords)
            return TurnGame(game.env(render_mode=render_mode, **keywords))
        if (registry := _contract_module("registry")) is not None:
            env = registry.make(env_id, render_mode, **keywords)
            return TurnGame(env) if hasattr(env, "agent_iter") else env
        # Gymnasium's own checker slows every step. An environment without rendering may not have the keyword
        # render_mode.
        rendering = {} if render_mode is None else {"render_mode": render_mode}
        make = importlib.import_module("gymnasium").make
        return make(env_id, disable_env_checker=True, **rendering, **keywords)


def make_checked(
    module: str | None, env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None
) -> Any:
    """Call `make_environment` for a training, with checks if the contract is installed."""
    env = make_environment(module, env_id, keywords, render_mode)
    checks = _contract_module("checked_environment")
    return env if checks is None else checks.checked(env, env_id)


def _contract_module(name: str) -> Any:
    """Return a module of the contract, None if it is not installed."""
    try:
        return importlib.import_module(f"mosaic_contract.{name}")
    except ModuleNotFoundError:
        return None


def make_wrapped(
    module: str | None,
    env_id: str,
    keywords: Mapping[str, Any],
    wrappers: Sequence[Any],
    render_mode: str | None = None,
) -> Any:
    """Make an environment for a training, with wrappers of the contract. Rewards of Atari games are not
    transformed, as in upstream's own preset for them."""
    from mosaic_contract.atari import ATARI
    from mosaic_contract.checked_environment import make_for_training
    from mosaic_contract.wrappers import wrap

    if module is None:
        env = make_for_training(env_id, wrappers, render_mode=render_mode, **keywords)
    else:
        env = make_checked(module, env_id, keywords, render_mode)
    return wrap(env, [name for name in wrappers if name != ATARI], env_id)
