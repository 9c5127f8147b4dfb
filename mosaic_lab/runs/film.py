"""One film of a run's checkpoint: ``films/<step>.mp4`` in the run's folder, and what its JSON file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mosaic_contract import as_number

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.files import open_file

FOLDER = "films"
"""The folder, in that of the run, with its films."""
TYPE = "video/mp4"
THUMBNAIL_SIDE = 240
"""Pixels of a first frame's longer side."""
LARGEST = 8 << 20
"""Bytes of a film that is read; those that are made have at most 2.5 million."""


def film_path(folder: Path, step: int) -> Path:
    """Return the path of the film of the checkpoint at ``step`` of the run in ``folder``."""
    return folder / FOLDER / f"{step}.mp4"


@dataclass(frozen=True)
class Film:
    """One film: an episode of the policy at ``step``, played by its best actions.

    ``episode_return`` (of several agents their sum) and ``length`` (steps) are those of the episode;
    ``complete`` is False where it was cut off before its end. The same ``seed`` plays it again. ``seconds``:
    how long the film is.
    """

    path: Path
    step: int
    checkpoint: str
    episode_return: float
    length: int
    seed: int
    seconds: float
    complete: bool

    @property
    def facts(self) -> dict[str, Any]:
        """Facts shown beside it: step, return, length, seconds, complete."""
        about = {name: getattr(self, name) for name in ("step", "length", "seconds", "complete")}
        return {**about, "return": self.episode_return}

    @cached_property
    def first_frame(self) -> bytes:
        """The first frame, reduced, as a PNG file. Raises MosaicError where the film is gone or damaged."""
        from mosaic_lab.fastlane.pictures import first_frame

        try:
            return first_frame(self.read(), THUMBNAIL_SIDE)
        except ValueError as error:
            raise MosaicError(f"the film {self.path} cannot be read: {error}") from None

    def read(self) -> bytes:
        """Return the film, an MP4 file. Raises MosaicError where it is gone."""
        try:
            with open_file(self.path) as file:
                return file.read(LARGEST)
        except OSError as error:
            raise MosaicError(f"the film {self.path} cannot be read: {error}") from None


def read_film(path: Path, about: Mapping[str, Any]) -> Film:
    """Return the film at ``path`` as its JSON file describes it. Raises KeyError, TypeError or ValueError."""
    return Film(
        path,
        int(about["step"]),
        str(about["checkpoint"]),
        as_number(about["return"]),
        int(about["length"]),
        int(about["seed"]),
        float(about["seconds"]),
        bool(about["complete"]),
    )
