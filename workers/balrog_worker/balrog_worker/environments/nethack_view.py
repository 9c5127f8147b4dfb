"""The text of what is visible on NetHack's map: each kind of thing with where the nearest of it is."""

from __future__ import annotations

from typing import Any

import numpy

_PLAIN = ("", "dark part of a room", "floor of a room", "stone", "unexplored")
_WORDS = ("adjacent", "near", "far", "very far")
_REACH = (1, 5, 15)  # steps up to which the first three of these words are used
_EIGHTHS = ("east", "southeast", "south", "southwest", "west", "northwest", "north", "northeast")
_MOST = 40


def sights(descriptions: Any, blstats: Any) -> str:
    """Return a line for each kind of thing, the nearest first: `descriptions` (21, 79, 80) says what is at
    each place, `blstats` where the agent is."""
    x, y = int(blstats[0]), int(blstats[1])
    nearest: dict[str, tuple[int, int, int, int]] = {}
    counts: dict[str, int] = {}
    for row, column in numpy.argwhere(descriptions[:, :, 0]).tolist():
        text = bytes(descriptions[row, column]).split(b"\0")[0].decode("latin-1")
        if text in _PLAIN or (row, column) == (y, x):
            continue
        right, down = column - x, row - y
        place = (max(abs(right), abs(down)), right * right + down * down, right, down)
        nearest[text] = min(nearest.get(text, place), place)
        counts[text] = counts.get(text, 0) + 1
    lines = []
    for text, (distance, _, right, down) in sorted(nearest.items(), key=lambda one: one[1])[:_MOST]:
        several = f", {counts[text]} on the map" if counts[text] > 1 else ""
        lines.append(f"{text}: {_how_far(distance)} {_direction(right, down)}{several}")
    return "\n".join(lines) or "nothing"


def _how_far(distance: int) -> str:
    return _WORDS[sum(distance > reach for reach in _REACH)]


def _direction(right: int, down: int) -> str:
    return _EIGHTHS[round(float(numpy.arctan2(down, right)) / (numpy.pi / 4)) % 8]
