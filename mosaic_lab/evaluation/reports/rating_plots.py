"""The plots of a league's ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mosaic_lab.chart_style import outline
from mosaic_lab.evaluation.reports.plot import Facet, Mark, Plot

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.league_players import Trained

_NOTE = "95% bootstrap intervals over games"
_COLUMNS = ["rating", "rating_low", "rating_high"]


def rating_plot(ratings: pd.DataFrame, title: str) -> Plot:
    """Return a row for each player of `mosaic_lab.League.ratings`, with its interval."""
    rows = tuple(str(player) for player in ratings.index)
    marks = []
    for row, (value, low, high) in enumerate(ratings[_COLUMNS].to_numpy(np.float64)):
        at = np.full(2, float(row))
        marks.append(
            Mark(rows[row], row, line=(np.array([low, high]), at), points=(np.array([value]), at[:1]))
        )
    return Plot(title, _NOTE, (Facet("Elo", "rating", tuple(marks), rows),), int(ratings.attrs["rng"]))


def training_plot(ratings: pd.DataFrame, trained: Mapping[str, Trained], title: str) -> Plot:
    """Return a line for each training, its checkpoints' ratings over their steps; a line across for each of
    the other players."""
    found = {str(player): values for player, values in zip(ratings.index, _values(ratings), strict=True)}
    steps = [about.step for player, about in trained.items() if player in found]
    ends = np.array([min(steps), max(steps)], dtype=np.float64)
    marks: list[Mark] = []
    for training in dict.fromkeys(about.training for about in trained.values()):
        own = sorted(
            (about.step, player)
            for player, about in trained.items()
            if about.training == training and player in found
        )
        x = np.array([step for step, _ in own], dtype=np.float64)
        value, low, high = np.array([found[player] for _, player in own]).T
        marks.append(
            Mark(training, len(marks), line=(x, value), band=outline(x, low, high), points=(x, value))
        )
    for player, (value, low, high) in found.items():
        if player not in trained:
            across, one, other = (np.full(2, number) for number in (value, low, high))
            marks.append(Mark(player, len(marks), line=(ends, across), band=outline(ends, one, other)))
    return Plot(title, _NOTE, (Facet("Elo", "steps", tuple(marks)),), int(ratings.attrs["rng"]))


def _values(ratings: pd.DataFrame) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]] = ratings[_COLUMNS].to_numpy(np.float64)
    return values
