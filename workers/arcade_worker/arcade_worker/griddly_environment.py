"""Griddly games with Gymnasium's interface and legal actions, rendered without a GPU."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Mapping, Sequence

import gymnasium
import numpy
import yaml
from gymnasium import spaces
from mosaic_contract import ConfigError
from mosaic_contract.arena import check_settings
from mosaic_contract.upstream import upstream_folder
from PIL import Image

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the old gym's warnings about itself
    from griddly import GymWrapper, gd

_VECTOR = gd.ObserverType.VECTOR
_TILE = 24  # pixels


def _settings(level: int = 0, max_steps: int | None = None) -> None:
    """Settings of a game: its level number (from 0) and the maximum number of steps per episode."""


class GriddlyEnvironment(gymnasium.Env[Any, Any]):
    """Observations indicate the kinds of objects at each place of the grid (width, height). Action 0 is the
    no-op; the others are upstream's in order. Actions without effect are illegal."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, env_id: str, file: Path, settings: Mapping[str, Any], render_mode: str | None) -> None:
        check_settings(env_id, settings, _settings)
        self.render_mode = render_mode
        self._sprites = Sprites(file)
        self.title, self.summary = self._sprites.title, self._sprites.summary
        self._game = GymWrapper(
            str(file),
            level=self._level(env_id, settings.get("level", 0)),
            max_steps=settings.get("max_steps"),
            player_observer_type=_VECTOR,
            global_observer_type=_VECTOR,
        )
        self._observation = self._game.reset().copy()
        self.avatar = str(self._game.avatar_object)
        self._types = list(self._game.action_names)
        self._actions = [(0, 0), *self._name_actions()]
        self.names = ["nothing", *self._name_actions().values()]
        self.action_space = spaces.Discrete(len(self._actions))
        self.observation_space = spaces.Box(0, 255, self._observation.shape, numpy.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._game.game.seed(seed % (1 << 31))
        self._observation = self._game.reset().copy()
        return self._observation, {"action_mask": self._legal()}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        kind, number = self._actions[int(action)]
        upstream_action = [kind, number] if len(self._types) > 1 else number
        observation, reward, terminated, _ = self._game.step(upstream_action)
        self._observation = observation.copy()
        return self._observation, float(reward), bool(terminated), False, {"action_mask": self._legal()}

    def render(self) -> Any:
        return self._sprites.picture_of(numpy.array(self._game.game.observe()), self._game.object_names)

    def close(self) -> None:
        self._game.close()

    def described(self) -> str:
        """Return the player's view of the grid, row by row."""
        view = self._observation
        names = self._game.object_names
        rows = [
            ", ".join(" and ".join(_present(view[:, x, y], names)) or "nothing" for x in range(view.shape[1]))
            for y in range(view.shape[2])
        ]
        return "\n".join(["What you see of the grid, row by row from the top:", *rows])

    def _name_actions(self) -> dict[tuple[int, int], str]:
        """Return the names of upstream's actions, by type and choice number."""
        names = {}
        for kind, name in enumerate(self._types):
            choices = self._game.action_input_mappings[name]["InputMappings"]
            for number in sorted(map(int, choices)):
                text = choices[str(number)]["Description"].lower()
                names[kind, number] = text if name in text else f"{name.replace('_', ' ')} {text}".strip()
        return names

    def _legal(self) -> Any:
        """Return the mask of actions that currently have an effect."""
        game, allowed = self._game.game, {(0, 0)}
        for position, names in game.get_available_actions(1).items():
            for name, numbers in game.get_available_action_ids(list(position), list(names)).items():
                allowed |= {(self._types.index(name), number) for number in numbers}
        return numpy.array([action in allowed for action in self._actions], numpy.int8)

    def _level(self, env_id: str, level: Any) -> int:
        count = self._sprites.levels
        if not isinstance(level, int) or not 0 <= level < count:
            raise ConfigError(f"{env_id} has the levels 0 to {count - 1}; level={level!r} is not one of them")
        return level


def _present(cell: Any, names: list[str]) -> list[str]:
    return [name for name, is_present in zip(names, cell) if is_present]


class Sprites:
    """The description of a game in its file, and the images of its objects."""

    def __init__(self, file: Path) -> None:
        game = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        environment = game["Environment"]
        self.title = str(environment["Name"])
        self.summary = " ".join(str(environment.get("Description", "")).split())
        self.levels = len(environment["Levels"])
        self._background = environment.get("Observers", {}).get("Sprite2D", {}).get("BackgroundTile")
        self._objects = {thing["Name"]: thing for thing in game["Objects"]}

    def picture_of(self, grid: Any, names: Sequence[str]) -> Any:
        """Return an image, (height, width, 3) uint8, of a grid of objects, (kinds, width, height)."""
        _, width, height = grid.shape
        picture = Image.new("RGBA", (width * _TILE, height * _TILE), "black")
        drawing_order = sorted(range(len(names)), key=lambda index: self._objects[names[index]].get("Z", 0))
        for x in range(width):
            for y in range(height):
                corner = (x * _TILE, y * _TILE)
                if self._ground is not None:
                    picture.alpha_composite(self._ground, corner)
                for index in drawing_order:
                    if grid[index, x, y] and names[index] in self._images:
                        picture.alpha_composite(self._images[names[index]], corner)
        return numpy.asarray(picture.convert("RGB"))

    @cached_property
    def _ground(self) -> Any:
        return _image(self._background) if self._background else None

    @cached_property
    def _images(self) -> dict[str, Any]:
        pictures = {}
        for name, description in self._objects.items():
            sprite = description.get("Observers", {}).get("Sprite2D")
            if sprite:
                first = sprite[0] if isinstance(sprite, list) else sprite
                images = first["Image"]
                pictures[name] = _image(images if isinstance(images, str) else images[0])
        return pictures


def _image(name: str) -> Any:
    file = upstream_folder("griddly") / "resources" / "images" / name
    return Image.open(file).convert("RGBA").resize((_TILE, _TILE))
