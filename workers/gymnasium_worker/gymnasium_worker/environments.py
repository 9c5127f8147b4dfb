"""Create environments by id: Gymnasium's and its plug-ins' (Atari, MiniGrid), PettingZoo's modules, and
environments in a user's module ("module:Id"), registered in Gymnasium or named by their class.

The id of a PettingZoo environment is its module, with or without the family: "connect_four_v3" or
"classic/connect_four_v3". The setting "paradigm" ("aec" or "parallel") selects its interface; default: "aec"
for games of the classic family, else "parallel".

Actions have their documented names, and keys that select them: the names of `KeyboardEvent.key`. If two
players act at once, the second one uses keys on the left of the keyboard, so that two people can share one.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import warnings
from enum import EnumMeta
from functools import partial
from typing import Any, Callable, Iterable, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_gymnasium_settings, check_settings
from mosaic_contract.environment_check import unmakeable
from mosaic_contract.pettingzoo_ids import pettingzoo_ids, pettingzoo_module, required_render_mode
from mosaic_contract.registry import user_maker

Describe = Callable[[], Mapping[str, Any]]

_TURN_BASED = "pettingzoo.classic."
_MAKERS = {"aec": "env", "parallel": "parallel_env"}
_PLUG_INS = ("ale_py", "minigrid")  # importing them registers their environments
_UNAVAILABLE = (  # require MuJoCo, JAX or minigrid's extra
    *("gymnasium.envs.mujoco", "gymnasium.envs.phys2d", "gymnasium.envs.tabular"),
    "minigrid.envs.wfc",
)
_KEEPS_STATE = re.compile(  # across resets: later episodes of the same object differ even if seeded alike
    r"(.*/)?(BipedalWalker(Hardcore)?-v3|knights_archers_zombies_v11|hanabi_v5)"
)

_LEFT, _RIGHT, _UP, _DOWN = "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"
_SECOND_PLAYER = {_LEFT: "a", _RIGHT: "d", _UP: "w", _DOWN: "s", " ": "e"}  # the second player's keys
_BETS = (("call", "c"), ("raise", "r"), ("fold", "f"), ("check", "k"))
_MOVES = (
    ("no action", "0"),
    ("move left", _LEFT),
    ("move right", _RIGHT),
    ("move down", _DOWN),
    ("move up", _UP),
)

_ACTIONS_OF: Mapping[str, tuple[tuple[str, str], ...]] = {  # each action's meaning and key
    "CartPole": (("push left", _LEFT), ("push right", _RIGHT)),
    "MountainCar": (("push left", _LEFT), ("no push", _DOWN), ("push right", _RIGHT)),
    "Acrobot": (("torque -1", _LEFT), ("no torque (noop)", _DOWN), ("torque +1", _RIGHT)),
    "LunarLander": (
        ("do nothing", _DOWN),
        ("left engine", _LEFT),
        ("main engine", _UP),
        ("right engine", _RIGHT),
    ),
    "CarRacing": (("do nothing", "0"), ("right", _RIGHT), ("left", _LEFT), ("gas", _UP), ("brake", _DOWN)),
    "FrozenLake": (("left", _LEFT), ("down", _DOWN), ("right", _RIGHT), ("up", _UP)),
    "FrozenLake8x8": (("left", _LEFT), ("down", _DOWN), ("right", _RIGHT), ("up", _UP)),
    "CliffWalking": (("up", _UP), ("right", _RIGHT), ("down", _DOWN), ("left", _LEFT)),
    "CliffWalkingSlippery": (("up", _UP), ("right", _RIGHT), ("down", _DOWN), ("left", _LEFT)),
    "Taxi": (
        *(("south", _DOWN), ("north", _UP), ("east", _RIGHT), ("west", _LEFT)),
        *(("pick up", "p"), ("drop off", "d")),
    ),
    "Blackjack": (("stick", "s"), ("hit", "h")),
    "connect_four": tuple((f"column {n}", str(n)) for n in range(1, 8)),
    "tictactoe": tuple((f"cell {n}", str(n)) for n in range(1, 10)),
    "rps": (("rock", "r"), ("paper", "p"), ("scissors", "s")),
    "leduc_holdem": _BETS,
    "texas_holdem": _BETS,
    "texas_holdem_no_limit": (
        *(("fold", "f"), ("check or call", "c"), ("raise half the pot", "h")),
        *(("raise the pot", "r"), ("all in", "a")),
    ),
    "cooperative_pong": (("do nothing", "0"), ("up", _UP), ("down", _DOWN)),
    "knights_archers_zombies": (
        *(("forward", _UP), ("backward", _DOWN), ("turn left", _LEFT), ("turn right", _RIGHT)),
        *(("use weapon", " "), ("do nothing", "0")),
    ),
    "pursuit": (("left", _LEFT), ("right", _RIGHT), ("down", _DOWN), ("up", _UP), ("stay", "0")),
}
_MINIGRID_KEYS = {  # MiniGrid's action names
    "left": _LEFT,
    "right": _RIGHT,
    "forward": _UP,
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_ATARI_KEYS = {"NOOP": "0", "FIRE": " ", "UP": _UP, "RIGHT": _RIGHT, "LEFT": _LEFT, "DOWN": _DOWN}
_MPE = (
    "simple_spread",
    "simple_tag",
    "simple_adversary",
    "simple_push",
    "simple_formation",
    "simple_line",
    "simple",
    "collect_treasure",
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
            if refusal := _missing_library(env_id, error):
                raise refusal from None
            raise


def _with_road_drawn_once(env: Any) -> Any:
    """Return CarRacing with the road of an observation copied to the frame of the same state: drawing it
    takes half the time of a step, and of a frame. Uses an internal method, checked on gymnasium 1.4.0.
    """
    inner = env.unwrapped
    draw = inner._render_road
    cached: list[Any] = [None, None, None]  # the track, the moment and the view, the picture

    def draw_once(*view: Any) -> None:
        if cached[0] is inner.road_poly and cached[1] == (inner.t, *view):
            inner.surf.blit(cached[2], (0, 0))
        else:
            draw(*view)
            cached[:] = inner.road_poly, (inner.t, *view), inner.surf.copy()

    inner._render_road = draw_once
    return env


def _missing_library(env_id: str, error: Exception) -> ConfigError | None:
    """Return the error for an environment whose library is not installed; None for other errors."""
    if isinstance(error, ImportError):
        return unmakeable(env_id, error)
    if type(error).__name__ != "DependencyNotInstalled":
        return None
    missing = str(error).partition(", run")[0]
    hint = "; the worker mujoco has it" if "MuJoCo" in missing else ""
    return ConfigError(f"{env_id} cannot be made by worker 'gymnasium': {missing}{hint}")


def _maker(env_id: str, settings: dict[str, Any], render_mode: str | None) -> Callable[[], Any]:
    module_name = pettingzoo_module(env_id)
    if module_name is not None:
        return _pettingzoo_maker(env_id, module_name, settings, render_mode)
    # an environment without rendering may lack this keyword
    rendering = {} if render_mode is None else {"render_mode": render_mode}
    if (user_class := user_maker(env_id)) is not None:
        check_settings(env_id, settings, user_class)
        return partial(user_class, **settings, **rendering)
    gymnasium, name = _registered(env_id)
    check_gymnasium_settings(name, settings)
    # Gymnasium's checker is meant for environment authors and slows every step.
    settings = {"disable_env_checker": True, **settings, **rendering}
    return partial(gymnasium.make, name, **settings)


def known() -> list[str]:
    """Return the ids available here; for Atari, only the current ones ("ALE/Pong-v5")."""
    import gymnasium

    _import_plug_ins()
    return sorted(
        [
            name
            for name, spec in gymnasium.registry.items()
            if _can_make(spec.entry_point) and (spec.namespace or not spec.entry_point.startswith("ale_py"))
        ]
        + pettingzoo_ids()
    )


def _can_make(entry_point: Any) -> bool:
    """Return whether this worker can create an environment with this entry point. Old MuJoCo versions have no
    module: their entry point is a function that only raises an error."""
    return isinstance(entry_point, str) and not entry_point.startswith(_UNAVAILABLE)


def _pettingzoo_maker(
    env_id: str, module_name: str, settings: dict[str, Any], render_mode: str | None
) -> Callable[[], Any]:
    """Return a function without arguments that creates a PettingZoo environment."""
    module = importlib.import_module(module_name)
    in_turns = module_name.startswith(_TURN_BASED) or not hasattr(module, _MAKERS["parallel"])
    paradigm = settings.pop("paradigm", "aec" if in_turns else "parallel")
    if paradigm not in _MAKERS:
        raise ConfigError(f'the paradigm of {env_id} must be "aec" or "parallel", not {paradigm!r}')
    make_env = getattr(module, _MAKERS[paradigm], None)
    if make_env is None:
        raise ConfigError(f"{env_id} has no {paradigm} interface; leave the setting paradigm out")
    check_settings(env_id, settings, getattr(module, "raw_env", make_env), also=["paradigm"])
    return partial(make_env, **{**settings, "render_mode": required_render_mode(module_name, render_mode)})


def _registered(env_id: str) -> tuple[Any, str]:
    """Return Gymnasium and the id, after importing the module that registers it: a plug-in, or the user's
    module named in the id. Raises `ConfigError` for an unknown id or module."""
    import gymnasium

    module, colon, name = env_id.rpartition(":")
    if colon:
        _import_user_module(module, env_id)
    elif name not in gymnasium.registry:
        _import_plug_ins()
    if name not in gymnasium.registry:
        near = difflib.get_close_matches(name, list(gymnasium.registry) if colon else known(), n=3)
        hint = f". Did you mean {' or '.join(near)}?" if near else ""
        if colon:
            raise ConfigError(f"the module {module!r} registers no environment {name!r}{hint}")
        raise ConfigError(
            f"there is no environment {name!r}{hint or '.'} `mosaic-lab workers list gymnasium` lists all"
        )
    return gymnasium, name


def _import_user_module(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package != module.partition(".")[0]:
            raise ConfigError(
                f"{env_id!r} cannot be made here: {error}. Install that module's package into the worker: "
                f"mosaic-lab workers install gymnasium --with {package}"
            ) from None
        raise ConfigError(
            f"{env_id!r} cannot be made here: the Python of the worker 'gymnasium', {sys.executable}, has no "
            f"module {error.name!r}. Put the folder that holds it in the variable PYTHONPATH, and pass that "
            'on with pass_env_vars=["PYTHONPATH"]'
        ) from None


def _import_plug_ins() -> None:
    for name in _PLUG_INS:
        importlib.import_module(name)


class RecreateOnReset:
    """Wraps an environment that is created again by `make` at every reset but the first, because its earlier
    episodes affect later ones despite seeding."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._env = make()
        self._has_reset = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def reset(self, **options: Any) -> Any:
        if self._has_reset:
            self._env.close()
            self._env = self._make()
        self._has_reset = True
        return self._env.reset(**options)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return information about one agent of an environment from `make`."""
    inner = env.unwrapped
    agents = [str(agent) for agent in getattr(env, "possible_agents", ())]
    space = env.action_space(agent) if agents else env.action_space
    size = int(getattr(space, "n", 0))
    # These games have no teams: players compete, and other observations are hidden from them.
    team = "" if type(inner).__module__.startswith("pettingzoo.classic") else None
    name = _name(env)
    if name == "chess":
        return EnvironmentFacts(team=team, describe=chess_state(env, agent))
    pairs = _own_meanings(inner, size) or _documented_meanings(name, size)
    if not pairs:
        return EnvironmentFacts(team=team)
    start = int(getattr(space, "start", 0))
    is_second_player = len(agents) == 2 and agent == agents[1] and not hasattr(env, "agent_iter")
    keys = {
        (_SECOND_PLAYER.get(key, key) if is_second_player else key): start + index
        for index, (_, key) in enumerate(pairs)
        if key
    }
    describe = frozen_lake_map(env) if name.startswith("FrozenLake") else None
    return EnvironmentFacts([meaning for meaning, _ in pairs], keys, team, describe=describe)


def _own_meanings(inner: Any, size: int) -> list[tuple[str, str]]:
    """Return (meaning, key) by action, as named by the environment itself (Atari, MiniGrid)."""
    if hasattr(inner, "get_action_meanings") and size:
        return [(meaning, _ATARI_KEYS.get(meaning, "")) for meaning in inner.get_action_meanings()]
    actions = getattr(inner, "actions", None)
    if isinstance(actions, EnumMeta) and size and len(actions) == size:
        members: Iterable[Any] = actions
        return [(action.name, _MINIGRID_KEYS.get(action.name, "")) for action in members]
    return []


def _documented_meanings(name: str, size: int) -> list[tuple[str, str]]:
    row = _MOVES if name in _MPE else _ACTIONS_OF.get(name, ())
    return list(row) if len(row) == size else []


def _name(env: Any) -> str:
    """Return an id without its version: "CartPole" for CartPole-v1, "connect_four" for connect_four_v3."""
    spec = getattr(env, "spec", None)
    name = spec.id if spec is not None else str((getattr(env, "metadata", None) or {}).get("name", ""))
    return re.sub(r"[-_]v\d+$", "", name.rpartition("/")[2])


def frozen_lake_map(env: Any) -> Describe | None:
    """Return a function that describes a lake: {"map": a string per row, with S for the start, F for ice, H
    for a hole and G for the goal}; None for an environment without such a map."""
    inner = env.unwrapped
    if not hasattr(inner, "desc"):
        return None

    def describe() -> Mapping[str, Any]:
        return {"map": [b"".join(row).decode("ascii") for row in inner.desc.tolist()]}

    return describe


def chess_state(env: Any, agent: str) -> Describe:
    """Return a function that describes the board to the agent to move: {"fen": the position in
    Forsyth-Edwards notation, "legal_moves": {move in UCI notation: action}}."""
    from pettingzoo.classic.chess.chess_utils import action_to_move, legal_moves

    game = env.unwrapped
    player = game.possible_agents.index(agent)

    def describe() -> Mapping[str, Any]:
        moves = {action_to_move(game.board, action, player): action for action in legal_moves(game.board)}
        return {
            "fen": game.board.fen(),
            "legal_moves": {move.uci(): int(action) for move, action in moves.items()},
        }

    return describe
