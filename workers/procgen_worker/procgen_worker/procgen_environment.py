"""Procgen with Gymnasium's interface."""

from __future__ import annotations

from typing import Any, ClassVar, Mapping

import gymnasium
import numpy
from gymnasium import spaces
from mosaic_contract.arena import check_settings
from procgen import ProcgenGym3Env

_MAX_SEED = 2**31 - 1


class ProcgenEnvironment(gymnasium.Env[Any, Any]):
    """A game, created again for every seed, because upstream accepts seeds only at creation. ``settings`` are
    upstream's keywords: "distribution_mode", "num_levels", "start_level", …."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}
    observation_space = spaces.Box(0, 255, (64, 64, 3), numpy.uint8)

    def __init__(self, env_id: str, name: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        check_settings(env_id, {**settings}, ProcgenGym3Env)
        self.name = name
        self._keywords = {"num_threads": 0, **settings, "render_mode": render_mode}
        self._make(0)
        self.combos = list(self._game.combos)
        self.action_space = spaces.Discrete(len(self.combos))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._game.close()
            self._make(seed % _MAX_SEED)
        elif not self._is_first:
            raise ValueError("Procgen must be reset with a seed, or after the end of an episode")
        return self._observation(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        frame = self._picture()
        self._game.act(numpy.array([action]))
        reward, _, first = self._game.observe()
        self._is_first = bool(first[0])
        self._last_frame = frame if self._is_first else None  # upstream already shows the next level
        info = self._game.get_info()[0]
        final_info = {"success": bool(info["prev_level_complete"])} if self._is_first else {}
        return self._observation(), float(reward[0]), self._is_first, False, final_info

    def render(self) -> Any:
        return self._picture() if self._last_frame is None else self._last_frame

    def close(self) -> None:
        self._game.close()

    def _make(self, seed: int) -> None:
        self._game = ProcgenGym3Env(num=1, env_name=self.name, rand_seed=seed, **self._keywords)
        self._is_first, self._last_frame = True, None

    def _observation(self) -> Any:
        return self._game.observe()[1]["rgb"][0].copy()

    def _picture(self) -> Any:
        """Return the picture for people; None if none was requested."""
        return self._game.get_info()[0].get("rgb")
