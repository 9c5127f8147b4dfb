"""Labelled vertical lines in charts that mark where stages of curricula begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mosaic_lab.fastlane.montage import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_ROWS = 3
"""Number of label rows, used in turn so that labels of neighbouring lines do not overlap."""
MOST_MARKED = 4
"""Maximum number of curves with their own marks; more could not be distinguished."""


class Place(NamedTuple):
    """A labelled position on the x axis of one curve."""

    x: float
    label: str


class Mark(NamedTuple):
    """A vertical line of a chart."""

    x: float
    label: str
    color: str = INK


def marks_of(curves: Iterable[tuple[str, Sequence[Place]]]) -> list[Mark]:
    """Return the marks of a chart's curves, given by their colours and places.

    Places shared by all curves that have any are in ink, others in the colour of their curve. If more than
    `MOST_MARKED` curves have places, only shared ones are marked. `marksOf` in `js/src/views/charts/marks.ts`
    does the same.
    """
    marked = [(color, dict.fromkeys(places)) for color, places in curves if places]
    if not marked:
        return []
    shared = [place for place in marked[0][1] if all(place in places for _, places in marked)]
    marks = [Mark(*place) for place in shared]
    if len(marked) <= MOST_MARKED:
        marks += [Mark(*place, color) for color, places in marked for place in places if place not in shared]
    return sorted(marks)


def mean_places(curves: Sequence[Sequence[Place]]) -> tuple[Place, ...]:
    """Return the places of the mean over curves: places common to all curves, at the mean of their x."""
    known = [{place.label: place.x for place in places} for places in curves]
    labels = [label for label in known[0] if all(label in one for one in known)]
    return tuple(Place(sum(one[label] for one in known) / len(known), label) for label in labels)


def draw_marks(axes: Axes, marks: Sequence[Mark], scale: float = 1.0) -> None:
    """Draw lines over the full height, at x times ``scale``, with their labels in rows at the top."""
    for number, (x, label, color) in enumerate(marks):
        axes.axvline(x * scale, color=color, alpha=0.6, linewidth=0.8, linestyle="dashed", zorder=1)
        axes.annotate(
            label,
            (x * scale, 1.0),
            (3, -2 - 9 * (number % LABEL_ROWS)),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            annotation_clip=True,
            va="top",
            color=color,
            fontsize=7.5,
        )
