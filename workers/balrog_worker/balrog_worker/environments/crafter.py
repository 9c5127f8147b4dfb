"""Crafter as text: surroundings by distance and direction, health and inventory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Dict

import crafter
import numpy
from gymnasium import spaces
from mosaic_contract.language.balrog import DEFAULT_ACTIONS
from mosaic_contract.language.describers.environment_describer import plural

from ..games import HISTORY_FOLLOWS, listed
from .text_environment import TextEnvironment

ACTIONS = {
    "Noop": "do nothing",
    "Move West": "move west where the ground allows it",
    "Move East": "move east where the ground allows it",
    "Move North": "move north where the ground allows it",
    "Move South": "move south where the ground allows it",
    "Do": "collect the material, drink the water or hit the creature in front of you",
    "Sleep": "sleep, when your energy is not full",
    "Place Stone": "place a stone in front of you",
    "Place Table": "place a table",
    "Place Furnace": "place a furnace",
    "Place Plant": "place a sapling",
    "Make Wood Pickaxe": "needs a table nearby, and wood",
    "Make Stone Pickaxe": "needs a table nearby, wood and stone",
    "Make Iron Pickaxe": "needs a table and a furnace nearby, wood, coal and iron",
    "Make Wood Sword": "needs a table nearby, and wood",
    "Make Stone Sword": "needs a table nearby, wood and stone",
    "Make Iron Sword": "needs a table and a furnace nearby, wood, coal and iron",
}
_VITALS = ("health", "food", "drink", "energy")
_MAX_VITAL = 9
_FRAME = (512, 512)


class _InOrder(Dict[Any, None]):
    """A set that iterates in order of insertion. Crafter's own sets, ordered by memory address, give a
    different episode in every process."""

    def add(self, member: Any) -> None:
        self[member] = None

    def remove(self, member: Any) -> None:
        del self[member]


class Crafter(TextEnvironment):
    """The only task: as many of the 22 achievements as possible within `max_episode_steps`.

    `unique_items`: describe only the nearest object of each kind. `precise_location`: give positions along
    both axes ("1 step north and 4 steps west"), else as one distance.
    """

    action_names = tuple(ACTIONS)
    default_action = DEFAULT_ACTIONS["crafter"]

    def __init__(
        self, max_episode_steps: int = 2000, unique_items: bool = True, precise_location: bool = False
    ) -> None:
        self._env = crafter.Env(length=max_episode_steps, seed=0)
        self._reset_world = self._env._world.reset
        self._env._world.reset = self._reset_in_order
        self._max_steps = max_episode_steps
        self._unique, self._precise = unique_items, precise_location
        self._names = _names(self._env)
        self._steps = 0
        self.observation_space = spaces.Box(0, 255, (64, 64, 3), numpy.uint8)
        self.action_space = spaces.Discrete(len(self.action_names))
        names = [name.replace("_", " ") for name in crafter.constants.achievements]
        self.instructions = (
            "You play Crafter. These are the only valid actions, with what they do:\n\n"
            f"{listed(ACTIONS)}\n\nThese are the achievements of the game:\n"
            + "\n".join(f"{number}. {name}" for number, name in enumerate(names, 1))
            + f"\n\n{HISTORY_FOLLOWS} Your goal is to reach as many of the achievements as you can."
        )

    def _reset_in_order(self, seed: int | None = None) -> None:
        self._reset_world(seed)
        self._env._world._chunks = defaultdict(_InOrder)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._env._seed, self._env._episode = seed, 0
        self._env.reset()
        self._steps = 0
        observation, _, _, info = self._env.step(0)  # as BALROG does, to observe the surroundings
        return observation, self._update(info)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, info = self._env.step(action)
        self._steps += 1
        dead = self._env._player.health <= 0
        truncated = not dead and self._steps >= self._max_steps
        return observation, float(reward), bool(dead), truncated, self._update(info)

    def render(self) -> Any:
        return self._env.render(_FRAME)

    def _update(self, info: dict[str, Any]) -> dict[str, Any]:
        reached = sum(count > 0 for count in info["achievements"].values())
        self.progression = reached / len(info["achievements"])
        self.long_term = "\n\n".join(filter(None, (self._state(), self._surroundings(info))))
        self.short_term = _belongings(info["inventory"])
        return {"achievements": info["achievements"], **self.progress_info()}

    def _state(self) -> str:
        if self._env._player.sleeping:
            return "You are asleep: until your energy is restored your actions have no effect."
        return "You are dead." if self._env._player.health <= 0 else ""

    def _surroundings(self, info: dict[str, Any]) -> str:
        x, y = (int(value) for value in info["player_pos"])
        facing = self._env._player.facing
        width, height = (int(value) for value in self._env._local_view._grid)
        cells = [
            (self._name(info, x + right, y + down), right, down)
            for right in range(-(width // 2), width // 2 + 1)
            for down in range(-(height // 2), height // 2 + 1)
            if (right, down) != (0, 0)
        ]
        named = [cell for cell in cells if cell[0]]
        if self._unique:
            nearest: dict[str, tuple[str, int, int]] = {}
            for candidate in named:
                so_far = nearest.get(candidate[0])
                if so_far is None or abs(candidate[1]) + abs(candidate[2]) < abs(so_far[1]) + abs(so_far[2]):
                    nearest[candidate[0]] = candidate
            named = list(nearest.values())
        lines = "\n".join(f"- {name} {self._position_text(right, down)}" for name, right, down in named)
        ahead = self._name(info, x + int(facing[0]), y + int(facing[1])) or "nothing"
        return f"You see:\n{lines}\n\nIn front of you: {ahead}."

    def _name(self, info: dict[str, Any], x: int, y: int) -> str:
        """Return the name of the object at a map position; empty beyond the edges."""
        wide, high = info["semantic"].shape
        return self._names[int(info["semantic"][x, y])] if 0 <= x < wide and 0 <= y < high else ""

    def _position_text(self, right: int, down: int) -> str:
        parts = [(down, "north" if down < 0 else "south"), (right, "west" if right < 0 else "east")]
        parts = [(abs(distance), name) for distance, name in parts if distance]
        if self._precise:
            return " and ".join(f"{plural(distance, 'step')} {name}" for distance, name in parts)
        total = sum(distance for distance, _ in parts)
        return f"{plural(total, 'step')} to the {'-'.join(name for _, name in parts)}"


def _names(env: Any) -> dict[int, str]:
    """Return the names of the numbers in the semantic map."""
    names = {number: str(name or "") for name, number in env._world._mat_ids.items()}
    return names | {
        number: object_class.__name__.lower() for object_class, number in env._sem_view._obj_ids.items()
    }


def _belongings(inventory: dict[str, int]) -> str:
    vitals = "\n".join(f"- {name}: {inventory[name]}/{_MAX_VITAL}" for name in _VITALS)
    items = "\n".join(
        f"- {name}: {count}" for name, count in inventory.items() if count and name not in _VITALS
    )
    return f"How you are:\n{vitals}\n\n" + (f"You have:\n{items}" if items else "You have nothing.")
