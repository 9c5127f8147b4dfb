"""NLE's environments for arenas: seeded at reset, rendered as arrays, and with consistent episode ends."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar, Mapping

import gymnasium
import numpy
from mosaic_contract.arena import check_settings
from nle.env.base import NLE

_PIXELS = "pixel"  # NLE's render mode that returns an array
_TEXT_ONLY = "ansi"  # a mode that requires nothing
_MAX_SEED = 1 << 62  # safely within the range of NLE's generators
_REFUSALS = ("set_initial_seeds", "set_current_seeds", "get_current_seeds")
_WON = "TASK_SUCCESSFUL"


class NetHackEnvironment(gymnasium.Env[Any, Any]):
    """An NLE or MiniHack environment from Gymnasium's registry, with `settings` as keywords.

    Upstream ignores the seed of a reset, and the Challenge rejects it. Here the seed determines the level,
    the character, the moon phase and the rooms that MiniHack takes from MiniGrid, also in the episodes that
    follow without a seed. `info` has "success" if the task can be won.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        spec = gymnasium.registry[env_id]
        module, _, name = str(spec.entry_point).partition(":")
        maker = getattr(importlib.import_module(module), name)
        check_settings(env_id, settings, maker)
        # gymnasium.make would not pass max_episode_steps to the game, which ends itself.
        fixed = {"fix_moon_phase": True, "render_mode": _TEXT_ONLY if render_mode is None else _PIXELS}
        self.game: NLE = maker(**{**spec.kwargs, **settings, **fixed})
        self.spec = spec
        self.observation_space, self.action_space = self.game.observation_space, self.game.action_space
        for method in _REFUSALS:
            vars(self.game.nethack).pop(method, None)

    def screen(self) -> dict[str, Any]:
        """Return everything that NLE currently observes, regardless of the observation space."""
        return dict(zip(self.game._observation_keys, self.game.last_observation))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        game_seed = int(self.np_random.integers(_MAX_SEED)) if seed is None else seed % _MAX_SEED
        NLE.seed(self.game, game_seed, game_seed, False)  # subclasses reject it or fail
        rooms = getattr(self.game, "minigrid_env", None)
        if rooms is not None and seed is not None:
            rooms.reset(seed=seed)  # the game's reset continues its random stream
        observation, info = self.game.reset()
        return observation, self._plain_info(info)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, ended, truncated, info = self.game.step(action)
        info = self._plain_info(info)
        truncated = bool(truncated or info["end_status"] == "ABORTED")
        return observation, float(reward), bool(ended) and not truncated, truncated, info

    def render(self) -> Any:
        return numpy.array(self.game.render(), numpy.uint8)

    def close(self) -> None:
        self.game.close()

    def _plain_info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        status = str(getattr(info["end_status"], "name", info["end_status"]))
        winnable = hasattr(self.game.StepStatus, _WON)
        return {**info, "end_status": status, **({"success": status == _WON} if winnable else {})}
