"""Pictures of Griddly's games, from the images that come with them: upstream draws these with Vulkan only,
and crashes where there is none."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Sequence

import numpy
import yaml
from mosaic_contract.upstream import upstream_folder
from PIL import Image

_TILE = 24  # pixels


class Sprites:
    """The description of a game in its file, and the images of its things."""

    def __init__(self, file: Path) -> None:
        game = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        about = game["Environment"]
        self.title = str(about["Name"])
        self.about = " ".join(str(about.get("Description", "")).split())
        self.levels = len(about["Levels"])
        self._background = about.get("Observers", {}).get("Sprite2D", {}).get("BackgroundTile")
        self._objects = {thing["Name"]: thing for thing in game["Objects"]}

    def picture_of(self, seen: Any, names: Sequence[str]) -> Any:
        """Return a picture, (height, width, 3) uint8, of a grid of things, (kinds, width, height)."""
        _, wide, high = seen.shape
        picture = Image.new("RGBA", (wide * _TILE, high * _TILE), "black")
        kinds = sorted(range(len(names)), key=lambda kind: self._objects[names[kind]].get("Z", 0))
        for x in range(wide):
            for y in range(high):
                corner = (x * _TILE, y * _TILE)
                if self._ground is not None:
                    picture.alpha_composite(self._ground, corner)
                for kind in kinds:
                    if seen[kind, x, y] and names[kind] in self._images:
                        picture.alpha_composite(self._images[names[kind]], corner)
        return numpy.asarray(picture.convert("RGB"))

    @cached_property
    def _ground(self) -> Any:
        return _image(self._background) if self._background else None

    @cached_property
    def _images(self) -> dict[str, Any]:
        found = {}
        for name, thing in self._objects.items():
            drawn = thing.get("Observers", {}).get("Sprite2D")
            if drawn:
                first = drawn[0] if isinstance(drawn, list) else drawn
                images = first["Image"]
                found[name] = _image(images if isinstance(images, str) else images[0])
        return found


def _image(name: str) -> Any:
    file = upstream_folder("griddly") / "resources" / "images" / name
    return Image.open(file).convert("RGBA").resize((_TILE, _TILE))
