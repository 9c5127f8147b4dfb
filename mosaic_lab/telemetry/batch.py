"""Convert the metrics of several lines of telemetry from rows to columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.telemetry.decoding import Health

MAX_NAMES = 256
"""Maximum metric names per stream; values of further names are counted in ``health.dropped_values``."""
MAX_NAME_LENGTH = 500
"""Maximum length of a name; longer ones are dropped in the same way."""


class Batch:
    """Rows of four numbers (step, episodes ended, time, seconds since the start) with their metric values."""

    def __init__(self) -> None:
        self._rows: tuple[list[float], ...] = ([], [], [], [])
        self._columns: dict[str, tuple[list[int], list[float | str]]] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows[0])

    def add(self, step: float, episode: float, time: float, seconds: float, values: dict[str, Any]) -> None:
        """Append a row and its values by metric name."""
        row = len(self._rows[0])
        for column, number in zip(self._rows, (step, episode, time, seconds), strict=True):
            column.append(number)
        for name, value in values.items():
            points = self._columns.get(name)
            if points is None:
                points = self._columns[name] = ([], [])
            points[0].append(row)
            points[1].append(value)

    def rows(self) -> NDArray[np.float64]:
        """Return the numbers of all rows, float64[4, n]."""
        return np.array(self._rows, dtype=np.float64)

    def columns(
        self, known: Collection[str], health: Health
    ) -> Iterator[tuple[str, NDArray[np.uint32], NDArray[np.float64]]]:
        """Yield each metric's name, the rows of its values (uint32[k]) and the values (float64[k]).

        Names that are neither ``known`` nor within the limits are dropped and counted in ``health``.
        """
        names = len(known)
        for name, (rows, values) in self._columns.items():
            if name not in known:
                if names >= MAX_NAMES or len(name) > MAX_NAME_LENGTH:
                    health.dropped_values += len(values)
                    continue
                names += 1
            # NumPy parses the strings that represent NaN and infinities.
            yield name, np.array(rows, dtype=np.uint32), np.array(values, dtype=np.float64)
