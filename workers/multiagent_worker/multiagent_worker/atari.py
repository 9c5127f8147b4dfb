"""PettingZoo's Atari games for two and four players, with ROMs from ale-py. An id is the game's module, with
or without its family: "pong_v3" or "atari/pong_v3"."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, check_settings

_PREFIX = "atari/"
_ACTIONS = (  # of the Arcade Learning Environment, by number
    *("noop", "fire", "up", "right", "left", "down", "up right", "up left", "down right", "down left"),
    *("up fire", "right fire", "left fire", "down fire", "up right fire", "up left fire"),
    *("down right fire", "down left fire"),
)
_KEYS = (
    {
        "noop": "0",
        "fire": " ",
        "up": "ArrowUp",
        "right": "ArrowRight",
        "left": "ArrowLeft",
        "down": "ArrowDown",
    },
    {"noop": "q", "fire": "e", "up": "w", "right": "d", "left": "a", "down": "s"},
)
_SETTINGS = ("obs_type", "full_action_space", "max_cycles")  # of every game
_GAMES = (
    *("basketball_pong_v3", "boxing_v2", "combat_plane_v2", "combat_tank_v2"),
    *("double_dunk_v3", "entombed_competitive_v3", "entombed_cooperative_v3", "flag_capture_v2"),
    *("foozpong_v3", "ice_hockey_v2", "joust_v3", "mario_bros_v3"),
    *("maze_craze_v3", "othello_v3", "pong_v3", "quadrapong_v4"),
    *("space_invaders_v2", "space_war_v2", "surround_v2", "tennis_v3"),
    *("video_checkers_v4", "volleyball_pong_v3", "warlords_v3", "wizard_of_wor_v3"),
)
PATTERNS = (f"{_PREFIX}*", *_GAMES)


def ids() -> list[str]:
    return [f"{prefix}{name}" for prefix in ("", _PREFIX) for name in _GAMES]


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    module = importlib.import_module(f"pettingzoo.atari.{env_id.removeprefix(_PREFIX)}")
    *keywords, _kwargs = inspect.signature(module.raw_env).parameters
    check_settings(env_id, settings, _nothing, also=[*keywords, *_SETTINGS])
    roms = Path(_located("ale_py")) / "roms"
    return module.parallel_env(render_mode=render_mode, auto_rom_install_path=str(roms), **settings)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    names = [_ACTIONS[int(action)] for action in env.unwrapped.action_mapping]
    number = env.possible_agents.index(agent)
    keys = _KEYS[number] if number < len(_KEYS) else {}
    bound = {keys[name]: action for action, name in enumerate(names) if name in keys}
    return EnvironmentFacts(names, bound, team="")


def _located(package: str) -> str:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    return next(iter(spec.submodule_search_locations))


def _nothing() -> None:
    """Accept no keywords."""
