"""One metric of one run, with at most ``CAPACITY`` points. The run's file keeps the complete data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

CAPACITY = 4096
"""Maximum number of points kept."""
_STRETCHES = 1024  # maximum averages kept; when full, neighbours are merged

Axis = Literal["step", "episode", "time"]
Floats = NDArray[np.float64]

_ORDINAL, _STEP, _EPISODE, _SECONDS, _VALUE = range(5)
_ROW_OF: dict[str, int] = {"step": _STEP, "episode": _EPISODE, "time": _SECONDS}

_MIN_MAX = MinMaxDownsampler()  # type: ignore[no-untyped-call]


class Series:
    """A bounded store of (step, episode, seconds, value) points. Safe to read while another thread extends
    it.

    When full, it is thinned to half: the extremes of each interval of the run are kept, and so are the first
    and the last point. NaN and infinite values are gaps, stored as NaN, one for each interval without a
    finite value.
    """

    def __init__(self) -> None:
        self.count = 0
        """Number of points added since the start."""
        self.last: float | None = None
        """The newest value (may be NaN); None before the first."""
        self._points: NDArray[np.float64] = np.empty((5, 64))
        self._held = 0
        self._averages = _Averages(rows=4)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of points kept."""
        return self._held

    def extend(self, step: Floats, episode: Floats, seconds: Floats, value: Floats) -> None:
        """Append points. All four arrays are float64[n]; ``seconds`` counts from the start of the run."""
        new = len(value)
        if new == 0:
            return
        block = np.empty((5, new))
        block[_ORDINAL] = np.arange(self.count, self.count + new)
        block[_STEP], block[_EPISODE], block[_SECONDS] = step, episode, seconds
        finite = np.isfinite(value)
        block[_VALUE] = np.where(finite, value, np.nan)
        with self._lock:
            self.count += new
            self.last = float(value[-1])
            self._averages.extend(block[_STEP:, finite])
            if self._held + new > CAPACITY:
                block = np.concatenate([self._points[:, : self._held], block], axis=1)
                block = block[:, thin(block[_ORDINAL], block[_VALUE], CAPACITY // 2)]
                self._held, new = 0, block.shape[1]
            self._reserve(self._held + new)
            self._points[:, self._held : self._held + new] = block
            self._held += new

    def view(self, x: Axis = "step", points: int = 1000) -> tuple[Floats, Floats]:
        """Return about ``points`` points for a chart: ``(x: float64[n], y: float64[n])``, x nondecreasing,
        gaps as NaN.

        ``x`` is "step", "episode" (episodes ended so far) or "time" (seconds since the run started).
        """
        with self._lock:
            xs = self._points[_ROW_OF[x], : self._held].copy()
            ys = self._points[_VALUE, : self._held].copy()
        if np.any(xs[1:] < xs[:-1]):
            order = np.argsort(xs, kind="stable")
            xs, ys = xs[order], ys[order]
        if len(xs) > points:
            kept = thin(xs, ys, points)
            xs, ys = xs[kept], ys[kept]
        return xs, ys

    def means(self, x: Axis = "step", points: int = 1000) -> tuple[Floats, Floats]:
        """Return at most ``points`` averages over intervals with equal numbers of values, in the format of
        ``view``.

        For smoothing and means over runs: ``view`` returns extremes, whose average is not the metric's. Gaps
        are omitted.
        """
        with self._lock:
            means = self._averages.means(points)
        xs, ys = means[_ROW_OF[x] - 1], means[_VALUE - 1]
        order = np.argsort(xs, kind="stable")
        return xs[order], ys[order]

    def nearest(self, steps: Sequence[float], x: Axis) -> list[float]:
        """Return the x of the points at the nearest steps. The series must have points."""
        with self._lock:
            known, xs = self._points[_STEP, : self._held], self._points[_ROW_OF[x], : self._held]
            return [float(xs[np.abs(known - step).argmin()]) for step in steps]

    def _reserve(self, size: int) -> None:
        room = self._points.shape[1]
        if size > room:
            larger = np.empty((5, min(CAPACITY, max(size, 2 * room))))
            larger[:, : self._held] = self._points[:, : self._held]
            self._points = larger


def thin(x: Floats, y: Floats, limit: int) -> NDArray[np.intp]:
    """Return indices of at most ``limit`` points (8 or more) that look like all when drawn: each interval of
    x keeps its extremes.

    ``x`` (float64[n]) must be nondecreasing. NaN in ``y`` (float64[n]) is a gap; gaps get at most a quarter
    of the points.
    """
    missing = np.isnan(y)
    if not missing.any():
        room = max(2, (limit - 2) // 2 * 2)
        kept = _extremes(x, y, room) if len(y) > room else np.arange(len(y))
        return np.unique(np.concatenate([[0], kept, [len(y) - 1]]).astype(np.intp))
    gaps = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    if len(gaps) > limit // 4:
        gaps = gaps[np.linspace(0, len(gaps) - 1, limit // 4).astype(np.intp)]
    finite = np.flatnonzero(~missing)
    room = max(2, (limit - len(gaps) - 2) // 2 * 2)
    if len(finite) > room:
        finite = finite[_extremes(x[finite], y[finite], room)]
    return np.unique(np.concatenate([[0], finite, gaps, [len(y) - 1]]).astype(np.intp))


def _extremes(x: Floats, y: Floats, room: int) -> NDArray[np.intp]:
    x = x - x[0]  # large offsets would reduce the precision of the bin edges
    # If x is constant (no episode has ended yet), bin by index instead of x.
    chosen: NDArray[np.uint64] = _MIN_MAX.downsample(*((x, y) if x[-1] > 0 else (y,)), n_out=room)
    return chosen.astype(np.intp)


class _Averages:
    """Means over at most 1,024 intervals with equal numbers of points, for smoothed curves and means over
    runs.

    They are kept separately because the extremes kept for charts of single values would bias averages.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._taken = 0
        self._length = 1
        self._sums: Floats = np.zeros((rows, 0))
        self._counts: Floats = np.zeros(0)

    def extend(self, points: Floats) -> None:
        """Add points, float64[rows, n]."""
        new = points.shape[1]
        if new == 0:
            return
        while self._taken + new > _STRETCHES * self._length:
            self._sums, self._counts = _join(self._sums), _join(self._counts)
            self._length *= 2
        first = self._taken // self._length
        stretch = np.arange(self._taken, self._taken + new) // self._length - first
        added: Floats = np.stack([np.bincount(stretch, row) for row in points])
        counts = np.bincount(stretch).astype(np.float64)
        open_stretches = len(self._counts) - first  # 1 if the last interval is incomplete, else 0
        if open_stretches:
            added[:, 0] += self._sums[:, first]
            counts[0] += self._counts[first]
        self._sums = np.concatenate([self._sums[:, :first], added], axis=1)
        self._counts = np.concatenate([self._counts[:first], counts])
        self._taken += new

    def means(self, limit: int) -> Floats:
        """Return the mean of each row over at most ``limit`` intervals, float64[rows, m], in order of
        appearance."""
        sums, counts = self._sums, self._counts
        while len(counts) > limit:
            sums, counts = _join(sums), _join(counts)
        return sums / counts


def _join(numbers: Floats) -> Floats:
    """Return the sums of neighbours along the last axis; an unpaired last element is kept."""
    return np.add.reduceat(numbers, np.arange(0, numbers.shape[-1], 2), axis=-1)
