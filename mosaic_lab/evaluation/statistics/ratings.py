"""Games between players: wins, draws and losses with Wilson intervals, and Elo ratings.

The result of a game is the score of its first player: 1 for a win, 0.5 for a draw, 0 for a loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Floats,
    Ints,
    read_numbers,
)

ELO_POINTS = 400 / math.log(10)
"""Elo points for a factor of e in the odds: 400 points are odds of ten to one (Elo 1978)."""


def wilson(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Return a share with its score interval, whose coverage is good even near 0 and 1 and for few trials
    (Wilson 1927). Raises ConfigurationError unless 0 <= successes <= trials and trials >= 1."""
    resampling.check_confidence(confidence)
    if not 0 <= successes <= trials or trials < 1:
        raise ConfigurationError(
            f"successes must be from 0 to trials, and trials ≥ 1, not {successes} and {trials}"
        )
    z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    share, spread = successes / trials, z * z / trials
    middle = (share + spread / 2.0) / (1.0 + spread)
    half = math.sqrt(share * (1.0 - share) * spread + spread * spread / 4.0) / (1.0 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Estimate(share, low, high, confidence)


@dataclass(frozen=True, slots=True)
class WinDrawLoss:
    """The first player's record: counts, and shares of all games with Wilson intervals."""

    games: int
    wins: int
    draws: int
    losses: int
    win: Estimate
    draw: Estimate
    loss: Estimate


def win_draw_loss(results: ArrayLike, *, confidence: float = CONFIDENCE) -> WinDrawLoss:
    """Count games; ``results`` (games,) is 1, 0.5 or 0 for each. Raises ConfigurationError for any other."""
    results = _results(results)
    wins, draws, losses = (int(np.sum(results == outcome)) for outcome in (1.0, 0.5, 0.0))
    shares = [wilson(count, len(results), confidence=confidence) for count in (wins, draws, losses)]
    return WinDrawLoss(len(results), wins, draws, losses, *shares)


@dataclass(frozen=True, slots=True)
class EloRatings:
    """Ratings of all players, in the order of their names."""

    players: tuple[str, ...]
    ratings: tuple[Estimate, ...]
    games: tuple[int, ...]
    """Number of games of each player."""
    regularised: bool
    """Whether a drawn game was added for each pair that met, to keep all ratings finite."""
    regularised_resamples: int
    """Number of ``resamples`` that were regularised likewise; they affect the outer bounds."""
    resamples: int


def elo(
    first: Sequence[str],
    second: Sequence[str],
    results: ArrayLike,
    *,
    rng: np.random.Generator,
    anchor: float = 1500.0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> EloRatings:
    """Return Elo ratings from a table of games, with percentile bootstrap intervals.

    ``first`` and ``second`` (games,) are the players, ``results`` (games,) is 1, 0.5 or 0 for the first. The
    ratings are the maximum likelihood estimate of Bradley & Terry 1952 on the Elo scale (a player 400 points
    stronger scores 10/11). A draw counts as half a win for both; the mean rating is ``anchor``. The order of
    games and the first move have no effect.

    The maximum is infinite if some players never lost or drew against the rest (Ford 1957). Only then, one
    drawn game is added for each pair that met. Games are resampled within each pair. If the table itself
    required the added draws, they are resampled with the games; otherwise a pair without variation would
    appear certain.

    Raises ConfigurationError for no games, a player against itself, other results, and players not connected
    by a chain of games, whose ratings would not be comparable.
    """
    resampling.check_resampling(rng, resamples, confidence)
    if not math.isfinite(anchor):
        raise ConfigurationError(f"anchor must be a finite number, not {anchor!r}")
    table = _table(first, second, _results(results))
    _check_connected(table)
    wins = table.scored(table.outcomes)[None]
    regularised = bool(_separated(wins)[0])
    value = _ratings(wins, table)[0]
    pool = table.outcomes + (np.array([0, 1, 0]) if regularised else 0)
    replicates, separated = _replicates(pool, table, rng, resamples)
    low, high = resampling.bounds(replicates, confidence, [int(table.outcomes.sum()), len(table.players)])
    return EloRatings(
        players=table.players,
        ratings=tuple(
            Estimate(float(anchor + rating), float(anchor + a), float(anchor + b), confidence)
            for rating, a, b in zip(value, low, high, strict=True)
        ),
        games=tuple(int(count) for count in table.met.sum(axis=1)),
        regularised=regularised,
        regularised_resamples=separated,
        resamples=resamples,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Table:
    """Games by pair (i < j) of players."""

    players: tuple[str, ...]
    i: Ints
    j: Ints
    outcomes: Ints
    """int64[pairs, 3]: games that i won, drew and lost."""

    @property
    def met(self) -> Floats:
        """The number of games between any two players, float64[players, players]."""
        met = np.zeros((len(self.players), len(self.players)))
        met[self.i, self.j] = met[self.j, self.i] = self.outcomes.sum(axis=1)
        return met

    def scored(self, outcomes: Ints) -> Floats:
        """Return the points of each player against each other, float64[..., players, players]."""
        points = np.zeros((*outcomes.shape[:-2], len(self.players), len(self.players)))
        points[..., self.i, self.j] = outcomes[..., 0] + 0.5 * outcomes[..., 1]
        points[..., self.j, self.i] = outcomes[..., 2] + 0.5 * outcomes[..., 1]
        return points


def _results(results: ArrayLike) -> Floats:
    values = read_numbers(results, "results")
    if values.ndim != 1 or values.size == 0:
        raise ConfigurationError(f"results must be a non-empty array of shape (games,), not {values.shape}")
    wrong = np.flatnonzero((values != 0.0) & (values != 0.5) & (values != 1.0))
    if len(wrong):
        raise ConfigurationError(
            f"results: {len(wrong)} of {len(values)} are neither 1 (won), 0.5 (drawn) nor 0 (lost); the "
            f"first is {values[wrong[0]]:g} at position {wrong[0]}"
        )
    return values


def _table(first: Sequence[str], second: Sequence[str], results: Floats) -> _Table:
    if not len(first) == len(second) == len(results):
        raise ConfigurationError(
            f"first, second and results must have equal lengths; they have {len(first)}, {len(second)} and "
            f"{len(results)} games"
        )
    names, number = np.unique([str(name) for name in (*first, *second)], return_inverse=True)
    left, right = number[: len(results)], number[len(results) :]
    if np.any(left == right):
        game = int(np.flatnonzero(left == right)[0])
        raise ConfigurationError(f"game {game}: {str(names[left[game]])!r} plays against itself")
    points = np.where(left < right, results, 1.0 - results)
    pair = np.minimum(left, right) * len(names) + np.maximum(left, right)
    pairs, index = np.unique(pair, return_inverse=True)
    outcomes = np.stack([np.bincount(index, points == outcome) for outcome in (1.0, 0.5, 0.0)], axis=1)
    i, j = np.divmod(pairs, len(names))
    return _Table(tuple(names.tolist()), i, j, outcomes.astype(np.int64))


def _check_connected(table: _Table) -> None:
    reach = _reach(table.met[None])[0]
    if not reach.all():
        groups = {tuple(table.players[player] for player in np.flatnonzero(row)) for row in reach}
        raise ConfigurationError(
            "no chain of games connects all players, so their ratings cannot be compared; groups: "
            + "; ".join(", ".join(group) for group in sorted(groups))
        )


def _reach(edges: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which players can reach which along positive edges: bool[rows, players, players]."""
    reach = (edges > 0) | np.eye(edges.shape[-1], dtype=bool)
    for _ in range(max(1, edges.shape[-1]).bit_length()):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return reach


def _separated(wins: Floats) -> NDArray[np.bool_]:
    """Return in which rows wins and draws do not connect each player to every other, so that there is no
    finite maximum (Ford 1957)."""
    return np.logical_not(_reach(wins).all(axis=(1, 2)))


def _replicates(pool: Ints, table: _Table, rng: np.random.Generator, resamples: int) -> tuple[Floats, int]:
    """Return ratings of resampled tables, float64[resamples, players], and the number of regularised ones."""
    games = table.outcomes.sum(axis=1)
    shares = pool / pool.sum(axis=1, keepdims=True)
    ratings, separated = np.empty((resamples, len(table.players))), 0
    for block in resampling.blocks(resamples, len(table.players) ** 2):
        outcomes = rng.multinomial(games, shares, size=(block.stop - block.start, len(games)))
        wins = table.scored(outcomes)
        separated += int(_separated(wins).sum())
        ratings[block] = _ratings(wins, table)
    return ratings, separated


def _ratings(wins: Floats, table: _Table) -> Floats:
    """Return Elo points relative to the players' mean, float64[rows, players], for ``wins`` of all rows.

    This is Newton's method. A step that changes no difference by more than 1 always decreases the
    (self-concordant) loss, so steps are shortened to this length, and the method converges from any start.
    Neighbours in a chain of games differ by odds of 2n to 1 at most, which bounds the number of steps.
    """
    draw = np.zeros_like(table.met)
    draw[table.i, table.j] = draw[table.j, table.i] = 0.5
    wins = wins + draw * _separated(wins)[:, None, None]
    games = wins + wins.transpose(0, 2, 1)
    points = wins.sum(axis=2)
    strength = np.zeros(points.shape)
    diagonal = np.arange(points.shape[1])
    for _ in range(50 + int(points.shape[1] * np.log(2.0 * games.max() + 1.0))):
        expected = 0.5 + 0.5 * np.tanh((strength[:, :, None] - strength[:, None, :]) / 2.0)
        slope = points - (games * expected).sum(axis=2)
        curve = -games * expected * (1.0 - expected)
        curve[:, diagonal, diagonal] -= curve.sum(axis=2)
        # Strengths are determined up to a constant: the added constant matrix keeps their mean at 0.
        scale = curve[:, diagonal, diagonal].mean(axis=1)[:, None, None]
        step = np.linalg.solve(curve + scale / points.shape[1], slope[..., None])[..., 0]
        step /= np.maximum(1.0, np.ptp(step, axis=1))[:, None]
        strength += step
        if np.abs(step).max() < 1e-8:
            strength -= strength.mean(axis=1, keepdims=True)
            return strength * ELO_POINTS
    raise ArithmeticError(f"ratings of {points.shape[1]} players did not converge")
