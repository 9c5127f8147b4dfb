"""BALROG's five BabyAI tasks: one room (two for "open") with only the objects named in the mission.

The missions come from its level "MixedTrainLocal", which excludes objects reserved for testing (yellow boxes,
red doors and keys, green balls, grey doors).
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

from gymnasium import spaces
from minigrid.envs.babyai.core.levelgen import LevelGen
from minigrid.envs.babyai.core.roomgrid_level import RejectSampling
from minigrid.envs.babyai.core.verifier import (
    AfterInstr,
    BeforeInstr,
    GoToInstr,
    ObjDesc,
    OpenInstr,
    PickupInstr,
    PutNextInstr,
)
from mosaic_contract.language.balrog import DEFAULT_ACTIONS

from ..games import GRID_ACTIONS
from ..grid_text import grid_lines
from .text_environment import TextEnvironment

_HELD_OUT = ("yellow box", "red key", "red door", "green ball", "grey door")
_DOORS = ("yellow", "green", "blue", "purple")
_ROOM_SIZE = 8
_FRAME_TILE = 32


class _Level(LevelGen):
    """A level whose mission belongs to one task."""

    def __init__(self, task: str, distractors: int) -> None:
        self._task, self._distractors = task, distractors
        super().__init__(
            room_size=_ROOM_SIZE,
            num_rows=1,
            num_cols=2 if task == "open" else 1,
            num_dists=distractors,
            locations=False,
            unblocking=False,
            implicit_unlock=False,
            render_mode="rgb_array",
        )

    def gen_mission(self) -> None:
        self.instrs = self._open() if self._task == "open" else self._in_one_room()
        self.check_objs_reachable()
        if any(text in self.instrs.surface(self) for text in _HELD_OUT):
            raise RejectSampling("kept for testing")

    def _open(self) -> Any:
        colour = self._rand_elem(_DOORS)
        locked = self._rand_int(0, self.num_cols)
        self.add_door(
            locked, 0, 2 * locked, colour, locked=True
        )  # right of the first room, left of the second
        self.add_object(1 - locked, 0, "key", colour)
        self.add_distractors(1 - locked, 0, num_distractors=self._distractors, all_unique=False)
        self.place_agent(1 - locked, 0)
        return OpenInstr(ObjDesc("door", self._rand_elem([None, colour])))

    def _in_one_room(self) -> Any:
        self.place_agent()
        several = self._task in ("putnext", "pick_up_seq_go_to")
        count = self._distractors + (2 if several else 1)
        objects = self.add_distractors(num_distractors=count, all_unique=False)
        first = self._rand_elem(objects)
        description = ObjDesc(first.type, first.color)
        if self._task == "goto":
            return GoToInstr(description)
        if self._task == "pickup":
            return PickupInstr(description)
        has_twin = len(description.find_matching_objs(self)[0]) > 1
        second = self._rand_elem(
            [obj for obj in objects if has_twin or (obj.type, obj.color) != (first.type, first.color)]
        )
        second_description = ObjDesc(second.type, second.color)
        if self._task == "putnext":
            return PutNextInstr(description, second_description)
        if self._rand_elem([True, False]):
            return BeforeInstr(PickupInstr(description), GoToInstr(second_description))
        return AfterInstr(GoToInstr(second_description), PickupInstr(description))


class BabyAI(TextEnvironment):
    """One of the tasks. `num_dists`: the number of distractor objects not named in the mission."""

    action_names = tuple(GRID_ACTIONS)
    default_action = DEFAULT_ACTIONS["babyai"]

    def __init__(self, task: str, num_dists: int = 0) -> None:
        self._level = _Level(task, num_dists)
        self.observation_space = self._level.observation_space
        self.action_space = spaces.Discrete(len(self.action_names))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        with contextlib.redirect_stdout(io.StringIO()):  # upstream prints every attempt at a mission
            observation, info = self._level.reset(seed=seed)
        self.progression = 0.0
        self.long_term = grid_lines(observation["image"])
        return observation, {**info, **self.progress_info()}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self._level.step(action)
        if reward > 0:
            self.progression = 1.0
        self.long_term = grid_lines(observation["image"])
        return observation, float(reward), terminated, truncated, {**info, **self.progress_info()}

    def description(self) -> dict[str, Any]:
        # The mission changes with the episode; operators take this game's instructions from the observation.
        return {"text": f"Your goal is to {self._level.mission}.\n{self.long_term}"} | {
            name: value for name, value in super().description().items() if name not in ("text", "actions")
        }

    def render(self) -> Any:
        return self._level.get_frame(tile_size=_FRAME_TILE)

    def close(self) -> None:
        self._level.close()
