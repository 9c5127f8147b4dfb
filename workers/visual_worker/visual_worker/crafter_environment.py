"""Crafter with Gymnasium's interface, and with episodes determined by their seeds."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar, Dict, Mapping

import crafter
import gymnasium
import numpy
from gymnasium import spaces
from mosaic_contract.arena import check_settings

_PICTURE = (512, 512)
_DIRECTIONS = {(0, -1): "up", (0, 1): "down", (-1, 0): "left", (1, 0): "right"}


class _Members(Dict[Any, None]):
    """A set that iterates in order of insertion. Upstream's sets of creatures are ordered by memory address,
    and random numbers are drawn in that order."""

    def add(self, member: Any) -> None:
        self[member] = None

    def remove(self, member: Any) -> None:
        del self[member]


class CrafterEnvironment(gymnasium.Env[Any, Any]):
    """A Crafter environment. `settings` are keywords of `crafter.Env`: area, view, size, length. An episode
    that reaches its length is truncated."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(
        self, env_id: str, reward: bool, settings: Mapping[str, Any], render_mode: str | None
    ) -> None:
        check_settings(env_id, settings, crafter.Env)
        self.render_mode = render_mode
        self.game = crafter.Env(**{"reward": reward, **settings, "seed": 0})
        self._reset_upstream = self.game._world.reset
        self.game._world.reset = self._reset_in_order
        self._info: Mapping[str, Any] = {}
        self._names = self._object_names()
        shape = self.game.observation_space.shape
        self.observation_space = spaces.Box(0, 255, shape, numpy.uint8)
        self.action_space = spaces.Discrete(len(self.game.action_names))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.game._seed, self.game._episode = seed, 0
        observation = self.game.reset()
        self._info = {"semantic": self.game._sem_view(), "inventory": self.game._player.inventory.copy()}
        return observation, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, done, info = self.game.step(action)
        self._info = info
        dead = info["discount"] == 0
        return observation, float(reward), bool(dead), bool(done and not dead), info

    def render(self) -> Any:
        return self.game.render(_PICTURE)

    def described(self) -> dict[str, str]:
        """Return the player's view, row by row, and inventory as text."""
        player = self.game._player
        width, height = (int(length) for length in self.game._local_view._grid)
        left, top = int(player.pos[0]) - width // 2, int(player.pos[1]) - height // 2
        rows = [", ".join(self._name(left + x, top + y) for x in range(width)) for y in range(height)]
        view = "\n".join(["What you see, row by row from the top, with you in the middle:", *rows])
        facing = _DIRECTIONS.get((int(player.facing[0]), int(player.facing[1])), "nowhere")
        inventory = ", ".join(f"{name} {count}" for name, count in self._info["inventory"].items() if count)
        state = "You are asleep." if player.sleeping else f"You face {facing}."
        return {"text": f"{view}\n\n{state} You have: {inventory}."}

    def _reset_in_order(self, seed: int | None = None) -> None:
        self._reset_upstream(seed)
        self.game._world._chunks = defaultdict(_Members)

    def _object_names(self) -> dict[int, str]:
        """Return the names of the numbers in the semantic map."""
        names = {number: str(name or "nothing") for name, number in self.game._world._mat_ids.items()}
        return names | {
            number: member.__name__.lower() for member, number in self.game._sem_view._obj_ids.items()
        }

    def _name(self, x: int, y: int) -> str:
        semantic = self._info["semantic"]
        inside = 0 <= x < semantic.shape[0] and 0 <= y < semantic.shape[1]
        return self._names[int(semantic[x, y])] if inside else "nothing"
