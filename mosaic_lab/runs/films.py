"""Films of a run's checkpoints in its folder: ``films/<step>.mp4``, described by ``films/<step>.json``.

A film is complete once its JSON file exists; a ``problem`` in that file says why the checkpoint has no film.
Films are made by a separate run whose ``parent`` is the training (see `mosaic_lab.runs.checkpoint_runs`).
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

from mosaic_contract import as_number

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.files import open_file
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import progress
from mosaic_lab.number_format import number
from mosaic_lab.runs.checkpoints import FILMS, background_runs, read_checkpoints
from mosaic_lab.sanitize import sanitize

FOLDER = "films"
"""Subfolder of a run's folder for its films."""
TYPE = "video/mp4"
THUMBNAIL_SIDE = 240
"""Length of a first frame's longer side in pixels."""
LARGEST = 8 << 20
"""Maximum size of a film that is read, in bytes; created films have at most 2.5 million."""
FilmMode = Literal["off", "last", "each"]
"""Checkpoints to film: none, the newest when the run ends, or each."""
MODES: tuple[FilmMode, ...] = ("off", "last", "each")
MAX_WAITING = 20
"""Maximum number of checkpoints that wait to be filmed. If a training saves them faster, the oldest are not
filmed."""
_NAMED = 5  # steps in an error
_SHOWN_MISSING = 3  # checkpoints without a film, below the others
_STRIP_FILMS = 50  # the newest
_STRIP_BYTES = 6 << 20  # of all films in a strip, which a notebook stores; others show only a first frame
_STRIP_WIDTH = 240


def checkpoint_film_path(folder: Path, step: int) -> Path:
    """Return the path of the film of the checkpoint at ``step``, in the run folder ``folder``."""
    return folder / FOLDER / f"{step}.mp4"


@dataclass(frozen=True)
class Film:
    """A film of an episode of the greedy policy at ``step``.

    ``episode_return`` (the sum over agents) and ``length`` (steps) describe the episode; ``complete`` is
    False if it was cut off. The same ``seed`` reproduces it. ``seconds`` is the film's duration.
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
        """The facts displayed with the film: step, return, length, seconds, complete."""
        fields = {name: getattr(self, name) for name in ("step", "length", "seconds", "complete")}
        return {**fields, "return": self.episode_return}

    @cached_property
    def first_frame(self) -> bytes:
        """Return the first frame, reduced, as a PNG. Raises MosaicError if the film is missing or damaged."""
        from mosaic_lab.fastlane.pictures import first_frame

        try:
            return first_frame(self.read(), THUMBNAIL_SIDE)
        except ValueError as error:
            raise MosaicError(f"the film {self.path} cannot be read: {error}") from None

    def read(self) -> bytes:
        """Return the film as MP4 bytes. Raises MosaicError if it is missing."""
        try:
            with open_file(self.path) as file:
                return file.read(LARGEST)
        except OSError as error:
            raise MosaicError(f"the film {self.path} cannot be read: {error}") from None


def read_film(path: Path, fields: Mapping[str, Any]) -> Film:
    """Return the film at ``path`` from its JSON file. Raises KeyError, TypeError or ValueError."""
    return Film(
        path,
        int(fields["step"]),
        str(fields["checkpoint"]),
        as_number(fields["return"]),
        int(fields["length"]),
        int(fields["seed"]),
        float(fields["seconds"]),
        bool(fields["complete"]),
    )


class Films(Sequence[Film]):
    """A snapshot of the films of the run in ``folder``, oldest checkpoint first; displayed as a strip."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._films: list[Film] = []
        self.missing: dict[int, str] = {}
        """Why a checkpoint has no film, by its step."""
        for path in sorted((folder.path / FOLDER).glob("*.json"), key=lambda path: (len(path.stem), path)):
            self._add(path)

    def _add(self, path: Path) -> None:
        film = path.with_suffix(".mp4")
        if path.is_symlink() or film.is_symlink():
            return  # films are sent to pages, so a link must not expose another file
        fields = self._folder.document(path)
        try:
            if "problem" in fields:
                self.missing[int(fields["step"])] = sanitize(str(fields["problem"]))
            elif film.is_file():
                self._films.append(read_film(film, fields))
        except (KeyError, TypeError, ValueError, OverflowError):
            return  # not one of ours

    @overload
    def __getitem__(self, index: int) -> Film: ...
    @overload
    def __getitem__(self, index: slice) -> list[Film]: ...
    def __getitem__(self, index: int | slice) -> Film | list[Film]:
        return self._films[index]

    def __len__(self) -> int:
        return len(self._films)

    def __iter__(self) -> Iterator[Film]:
        return iter(self._films)

    def at(self, step: int) -> Film:
        """Return the film of the checkpoint at ``step``. Raises MosaicError listing the available steps."""
        for film in self:
            if film.step == step:
                return film
        steps = [f"{film.step}" for film in self][-_NAMED:]
        newest = f"the newest are of steps {', '.join(steps)}" if steps else "it has none"
        why = self.missing.get(step)
        raise MosaicError(
            f"run {self._folder.run_id} has no film of step {step}" + (f" ({why})" if why else f": {newest}")
        )

    @property
    def status(self) -> str:
        """The progress of films being made, or why making them last failed; empty otherwise."""
        folders = background_runs(self._folder, FILMS)
        if not folders:
            return ""
        folder = _working(folders) or folders[-1]
        return self._advice if _was_stopped(folder) else _status(folder)

    @property
    def _advice(self) -> str:
        """How to film the checkpoints that a stopped run has not filmed; empty if it has filmed all."""
        filmed = {*(film.step for film in self), *self.missing}
        remaining = [saved.step for saved in read_checkpoints(self._folder) if saved.step not in filmed]
        if not remaining:
            return ""
        plural = "" if len(remaining) == 1 else "s"
        return f"lab.make_films(run) films the remaining {len(remaining):,} checkpoint{plural}"

    @property
    def being_made(self) -> bool:
        """Whether a run is making films now."""
        return _working(background_runs(self._folder, FILMS)) is not None

    @property
    def missing_text(self) -> str:
        """The newest checkpoints without a film, as text, and the reason for the last; empty if every
        checkpoint has a film."""
        if not self.missing:
            return ""
        steps = [f"{step:,}" for step in self.missing]
        others = f" and {len(steps) - _NAMED:,} others" if len(steps) > _NAMED else ""
        why = list(self.missing.values())[-1].partition("\n")[0]
        reason = f": {why}" if len(steps) == 1 else f" (the last: {why})"
        return f"no film of step {', '.join(steps[-_NAMED:])}{others}{reason}"

    def __repr__(self) -> str:
        count = f"{len(self)} film{'' if len(self) == 1 else 's'}"
        parts = [f"{film.step}: {film.episode_return:g}" for film in self]
        returns = f", returns by step {', '.join(parts)}" if parts else ""
        missing = f", {self.missing_text}" if self.missing else ""
        return f"<Films of {self._folder.run_id}: {count}{returns}{missing}" + (
            f"; {self.status}>" if self.status else ">"
        )

    def _repr_html_(self) -> str:
        problems = [f"no film of step {step:,}: {why}" for step, why in self.missing.items()]
        notes = [*problems[-_SHOWN_MISSING:], *filter(None, [self.status])]
        return strip(self, notes if self or self.being_made else ["no films", *notes])


def film_content(folder: RunFolder, step: int) -> tuple[str, bytes]:
    """Return the type and the bytes of a film. Raises MosaicError if there is none."""
    return TYPE, Films(folder).at(step).read()


def _working(folders: Sequence[RunFolder]) -> RunFolder | None:
    return next((folder for folder in reversed(folders) if not folder.status().state.finished), None)


def _was_stopped(folder: RunFolder) -> bool:
    status = folder.status()
    outcome = status.outcome
    return status.state is State.CANCELLED and outcome is not None and outcome.stopped_by is not None


def _status(folder: RunFolder) -> str:
    status = folder.status()
    if not status.state.finished:
        steps = progress(folder.telemetry_path).get("step", 0)
        one_by_one = "" if steps else "; films of all runs are recorded one after the other"
        return f"run {folder.run_id} is filming: {films_made(folder)}, {steps:,} steps recorded{one_by_one}"
    if status.state is State.COMPLETED:
        return ""
    return f"run {folder.run_id} {status.state}: {status.reason}"


def planned_films(config: Mapping[str, Any]) -> int | None:
    """Return how many films the run with this configuration is to make; None if that is unknown."""
    planned = config.get("planned_films")
    return planned if isinstance(planned, int) else None


def films_made(folder: RunFolder) -> str:
    """Return how many films the run in ``folder`` has made: ``2 of 10 films``, or ``1 film``."""
    made, planned = progress(folder.telemetry_path).get("episode", 0), planned_films(folder.config())
    of, last = ("", made) if planned is None else (f" of {planned:,}", planned)
    return f"{made:,}{of} film{'' if last == 1 else 's'}"


def strip(films: Sequence[Film], notes: Iterable[str]) -> str:
    """Return the films as a self-contained HTML strip, with notes below."""
    figures, total_bytes = [], 0
    for film in reversed(films[-_STRIP_FILMS:]):
        try:
            data, poster = film.read(), film.first_frame
        except MosaicError:
            continue  # removed meanwhile
        total_bytes += len(data)
        figures.append(_figure(film, poster, data if total_bytes <= _STRIP_BYTES else None))
    older = [f"{len(films) - _STRIP_FILMS:,} older films are not shown"] if len(films) > _STRIP_FILMS else []
    below = "".join(f"<p>{html.escape(note)}</p>" for note in [*older, *notes])
    row = "display:flex; gap:8px; overflow-x:auto; padding:4px 0"
    return f'<div style="{row}">{"".join(reversed(figures))}</div>{below}'


def film_caption(film: Film) -> str:
    """Return the caption of a film: ``step 1,000: return 23.5, 23 steps``."""
    cut = "" if film.complete else ", cut off"
    return f"step {film.step:,}: return {number(film.episode_return)}, {film.length:,} steps{cut}"


def _figure(film: Film, poster: bytes, data: bytes | None) -> str:
    text = html.escape(film_caption(film))
    picture = f"data:image/png;base64,{b64encode(poster).decode()}"
    size = f'style="width:{_STRIP_WIDTH}px; max-height:{_STRIP_WIDTH}px; background:#000; object-fit:contain"'
    if data is None:
        element = f'<img {size} src="{picture}" alt="{text}">'
    else:
        source = f"data:{TYPE};base64,{b64encode(data).decode()}"
        element = (
            f'<video {size} controls muted playsinline preload="none" poster="{picture}" '
            f'src="{source}" aria-label="{text}"></video>'
        )
    note = f'<figcaption style="width:{_STRIP_WIDTH}px; font-size:small">{text}</figcaption>'
    return f'<figure style="margin:0">{element}{note}</figure>'
