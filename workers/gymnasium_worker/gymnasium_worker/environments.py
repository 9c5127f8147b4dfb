"""Create environments by id: Gymnasium's and its plug-ins' (Atari, MiniGrid), PettingZoo's modules, and
environments in a user's module ("module:Id"), registered in Gymnasium or named by their class.

The id of a PettingZoo environment is its module, with or without the family: "connect_four_v3" or
"classic/connect_four_v3". The setting "paradigm" ("aec" or "parallel") selects its interface; default: "aec"
for games of the classic family, else "parallel".
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import warnings
from functools import partial
from typing import Any, Callable, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import check_gymnasium_settings, check_settings
from mosaic_contract.environment_check import unmakeable
from mosaic_contract.pettingzoo_ids import pettingzoo_ids, pettingzoo_module
from mosaic_contract.registry import own_class

_IN_TURNS = "pettingzoo.classic."
_MAKERS = {"aec": "env", "parallel": "parallel_env"}
_PLUG_INS = ("ale_py", "minigrid")  # importing them registers their environments
_NOT_HERE = (  # require MuJoCo, JAX or minigrid's extra
    *("gymnasium.envs.mujoco", "gymnasium.envs.phys2d", "gymnasium.envs.tabular"),
    "minigrid.envs.wfc",
)
_KEEPS_STATE = re.compile(  # across resets: later episodes of the same object differ even if seeded alike
    r"(.*/)?(BipedalWalker(Hardcore)?-v3|knights_archers_zombies_v11|hanabi_v5)"
)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Create an environment, with `settings` as keyword arguments. Raises `ConfigError` for an unknown id,
    with the nearest known ones, and for an unsupported paradigm; also any error of the environment itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from PettingZoo modules without its registry
        maker = _maker(env_id, dict(settings), render_mode)
        try:
            env = RecreateOnReset(maker) if _KEEPS_STATE.fullmatch(env_id) else maker()
            return _with_road_drawn_once(env) if render_mode and env_id.startswith("CarRacing-") else env
        except Exception as error:  # an environment's own code may raise anything
            if refusal := _lacking(env_id, error):
                raise refusal from None
            raise


def _with_road_drawn_once(env: Any) -> Any:
    """Return CarRacing with the road of an observation copied to the frame of the same state: drawing it
    takes half the time of a step, and of a frame. Uses an internal method, checked on gymnasium 1.4.0.
    """
    inner = env.unwrapped
    draw = inner._render_road
    drawn: list[Any] = [None, None, None]  # the track, the moment and the view, the picture

    def draw_once(*view: Any) -> None:
        if drawn[0] is inner.road_poly and drawn[1] == (inner.t, *view):
            inner.surf.blit(drawn[2], (0, 0))
        else:
            draw(*view)
            drawn[:] = inner.road_poly, (inner.t, *view), inner.surf.copy()

    inner._render_road = draw_once
    return env


def _lacking(env_id: str, error: Exception) -> ConfigError | None:
    """Return the error for an environment whose library is not installed; None for other errors."""
    if isinstance(error, ImportError):
        return unmakeable(env_id, error)
    if type(error).__name__ != "DependencyNotInstalled":
        return None
    missing = str(error).partition(", run")[0]
    where = "; the worker mujoco has it" if "MuJoCo" in missing else ""
    return ConfigError(f"{env_id} cannot be made by worker 'gymnasium': {missing}{where}")


def _maker(env_id: str, settings: dict[str, Any], render_mode: str | None) -> Callable[[], Any]:
    module_name = pettingzoo_module(env_id)
    if module_name is not None:
        return _pettingzoo_maker(env_id, module_name, settings, render_mode)
    # an environment without rendering may lack this keyword
    drawing = {} if render_mode is None else {"render_mode": render_mode}
    if (own := own_class(env_id)) is not None:
        check_settings(env_id, settings, own)
        return partial(own, **settings, **drawing)
    gymnasium, name = _registered(env_id)
    check_gymnasium_settings(name, settings)
    # Gymnasium's checker is meant for environment authors and slows every step.
    settings = {"disable_env_checker": True, **settings, **drawing}
    return partial(gymnasium.make, name, **settings)


def known() -> list[str]:
    """Return the ids available here; for Atari, only the current ones ("ALE/Pong-v5")."""
    import gymnasium

    _plug_in()
    return sorted(
        [
            name
            for name, spec in gymnasium.registry.items()
            if _is_here(spec.entry_point) and (spec.namespace or not spec.entry_point.startswith("ale_py"))
        ]
        + pettingzoo_ids()
    )


def _is_here(entry_point: Any) -> bool:
    """Return whether this worker can create an environment with this entry point. Old MuJoCo versions have no
    module: their entry point is a function that only raises an error."""
    return isinstance(entry_point, str) and not entry_point.startswith(_NOT_HERE)


def _pettingzoo_maker(
    env_id: str, module_name: str, settings: dict[str, Any], render_mode: str | None
) -> Callable[[], Any]:
    """Return a function without arguments that creates a PettingZoo environment."""
    module = importlib.import_module(module_name)
    in_turns = module_name.startswith(_IN_TURNS) or not hasattr(module, _MAKERS["parallel"])
    paradigm = settings.pop("paradigm", "aec" if in_turns else "parallel")
    if paradigm not in _MAKERS:
        raise ConfigError(f'the paradigm of {env_id} must be "aec" or "parallel", not {paradigm!r}')
    make_env = getattr(module, _MAKERS[paradigm], None)
    if make_env is None:
        raise ConfigError(f"{env_id} has no {paradigm} interface; leave the setting paradigm out")
    check_settings(env_id, settings, getattr(module, "raw_env", make_env), also=["paradigm"])
    return partial(make_env, **{**settings, "render_mode": render_mode})


def _registered(env_id: str) -> tuple[Any, str]:
    """Return Gymnasium and the id, after importing the module that registers it: a plug-in, or the user's
    module named in the id. Raises `ConfigError` for an unknown id or module."""
    import gymnasium

    module, colon, name = env_id.rpartition(":")
    if colon:
        _import_own(module, env_id)
    elif name not in gymnasium.registry:
        _plug_in()
    if name not in gymnasium.registry:
        near = difflib.get_close_matches(name, list(gymnasium.registry) if colon else known(), n=3)
        hint = f". Did you mean {' or '.join(near)}?" if near else ""
        if colon:
            raise ConfigError(f"the module {module!r} registers no environment {name!r}{hint}")
        raise ConfigError(
            f"there is no environment {name!r}{hint or '.'} `mosaic-lab workers list gymnasium` lists all"
        )
    return gymnasium, name


def _import_own(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        lacks = str(error.name).partition(".")[0]
        if lacks != module.partition(".")[0]:
            raise ConfigError(
                f"{env_id!r} cannot be made here: {error}. Install that module's package into the worker: "
                f"mosaic-lab workers install gymnasium --with {lacks}"
            ) from None
        raise ConfigError(
            f"{env_id!r} cannot be made here: the Python of the worker 'gymnasium', {sys.executable}, has no "
            f"module {error.name!r}. Put the folder that holds it in the variable PYTHONPATH, and pass that "
            'on with pass_env_vars=["PYTHONPATH"]'
        ) from None


def _plug_in() -> None:
    for name in _PLUG_INS:
        importlib.import_module(name)


class RecreateOnReset:
    """Wraps an environment that is created again by `make` at every reset but the first, because its earlier
    episodes affect later ones despite seeding."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._env = make()
        self._used = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def reset(self, **options: Any) -> Any:
        if self._used:
            self._env.close()
            self._env = self._make()
        self._used = True
        return self._env.reset(**options)
