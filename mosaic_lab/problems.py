"""Everything that is wrong with what a user asked for, in one error.

Crosses the boundary: `Problems`. Each has a place, such as "seeds" or "operators.PPO.kind"; where that came
from a file, the error says in which line.
"""

from __future__ import annotations

from collections.abc import Mapping

from mosaic_lab.errors import ConfigurationError


class Problems:
    """``source`` is the file's name, ``lines`` the line of each place in it."""

    def __init__(self, source: str = "", lines: Mapping[str, int] | None = None) -> None:
        self._source = source
        self._lines = lines or {}
        self._found: list[tuple[int, str]] = []

    def add(self, place: str, text: str) -> None:
        """``text`` names what is wrong, with the value."""
        line = self._line_of(place)
        where = f"line {line}: " if line else ""
        self._found.append((line, where + text))

    @property
    def found(self) -> bool:
        """Whether anything is wrong so far."""
        return bool(self._found)

    def check(self) -> None:
        """Raises ConfigurationError with all that was found; nothing where that is nothing."""
        texts = [text for _, text in sorted(self._found, key=lambda found: found[0])]
        if not texts:
            return
        if len(texts) == 1:
            raise ConfigurationError(f"{self._source}, {texts[0]}" if self._source else texts[0])
        head = f"{self._source} has {len(texts)} problems:" if self._source else f"{len(texts)} problems:"
        raise ConfigurationError("\n".join([head, *(f"  {text}" for text in texts)]))

    def _line_of(self, place: str) -> int:
        """Of the place, or of what it is a part of; 0 where that is not known."""
        while place:
            if place in self._lines:
                return self._lines[place]
            place = place.rpartition(".")[0]
        return 0
