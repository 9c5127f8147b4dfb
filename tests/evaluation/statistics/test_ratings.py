"""Wins, draws and losses with Wilson intervals, and Elo ratings."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import optimize, stats

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import elo, wilson, win_draw_loss


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (1, 10), (7, 10), (10, 10), (1, 1), (512, 999)])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_wilson_intervals_are_scipys(successes: int, trials: int, confidence: float) -> None:
    found = wilson(successes, trials, confidence=confidence)
    theirs = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert (found.value, found.low, found.high) == pytest.approx((successes / trials, *theirs))


def test_games_are_counted() -> None:
    found = win_draw_loss([1, 1, 0.5, 0, 1])
    assert (found.games, found.wins, found.draws, found.losses) == (5, 3, 1, 1)
    assert found.win == wilson(3, 5)
    assert found.draw == found.loss == wilson(1, 5)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "results"),
        ([1, -1, 2], "2 of 3 are neither 1 .* first is -1 at position 1"),
        ([1, math.nan], "not finite"),
        ([[1, 0]], r"\(1, 2\)"),
    ],
)
def test_results_that_are_none_are_refused(results: list, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        win_draw_loss(results)
    with pytest.raises(ConfigurationError, match="successes"):
        wilson(3, 2)


def test_three_wins_in_four_games_are_191_points() -> None:
    found = elo(["a"] * 4, ["b"] * 4, [1, 1, 1, 0], rng=rng())
    a, b = found.ratings
    assert a.value - b.value == pytest.approx(400 * math.log10(3))
    assert a.value + b.value == pytest.approx(3000)
    assert (found.players, found.games, found.regularised) == (("a", "b"), (4, 4), False)


def test_a_draw_is_half_a_win_for_both() -> None:
    drawn = elo(["a"] * 4, ["b"] * 4, [1, 0.5, 0.5, 1], rng=rng()).ratings
    assert drawn[0].value - drawn[1].value == pytest.approx(400 * math.log10(3))


def test_games_against_a_third_player_count() -> None:
    """Consistent results around a ring (a:b 3:1, b:c 1:9, a:c 1:3) give the strengths 3, 1 and 9."""
    table = {("a", "b"): (3, 1), ("b", "c"): (1, 9), ("a", "c"): (1, 3)}
    found = elo(*games(table), rng=rng(), anchor=0.0)
    expected = 400 * np.log10([3, 1, 9])
    assert [rating.value for rating in found.ratings] == pytest.approx(expected - expected.mean())


def games(table: dict[tuple[str, str], tuple[int, int]]) -> tuple[list[str], list[str], list[float]]:
    """Expand a table of (wins, losses) per pair into single games."""
    rows = [
        (*pair, result)
        for pair, counts in table.items()
        for result, n in zip((1.0, 0.0), counts, strict=True)
        for _ in range(n)
    ]
    first, second, results = zip(*rows, strict=True)
    return list(first), list(second), list(results)


def played(count: int, seed: int, players: int = 6) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Simulate games, some of them drawn, between players of known strength."""
    generator = rng(seed)
    strength = np.linspace(-200, 200, players)
    one = generator.integers(0, players, size=count)
    other = (one + generator.integers(1, players, size=count)) % players
    wins = generator.random(count) < 1 / (1 + 10 ** ((strength[other] - strength[one]) / 400))
    results = np.where(generator.random(count) < 0.2, 0.5, wins)
    return [f"p{i}" for i in one], [f"p{i}" for i in other], results, strength


def test_ratings_are_the_maximum_likelihood() -> None:
    first, second, results, _ = played(300, seed=1)
    found = elo(first, second, results, rng=rng(), anchor=0.0)
    number = {name: index for index, name in enumerate(found.players)}
    one, other = (np.array([number[name] for name in side]) for side in (first, second))

    def loss(rating: np.ndarray) -> float:
        difference = (rating[one] - rating[other]) * math.log(10) / 400
        return float(
            np.sum(np.logaddexp(0, -difference) * results + np.logaddexp(0, difference) * (1 - results))
        )

    best = optimize.minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
    assert [rating.value for rating in found.ratings] == pytest.approx(best - best.mean(), abs=0.02)


def test_ratings_updated_game_by_game_settle_at_the_same_values() -> None:
    """Online updates as in leaderboards such as TextArena's, here in many passes with a small step."""
    first, second, results, _ = played(300, seed=1)
    found = elo(first, second, results, rng=rng(), anchor=1000.0)
    now, passes, order = dict.fromkeys(found.players, 1000.0), [], rng()
    for _ in range(60):
        for game in order.permutation(len(results)):
            one, other = first[game], second[game]
            change = results[game] - 1 / (1 + 10 ** ((now[other] - now[one]) / 400))
            now[one], now[other] = now[one] + 2 * change, now[other] - 2 * change
        passes.append([now[name] for name in found.players])
    assert np.mean(passes[40:], axis=0) == pytest.approx([rating.value for rating in found.ratings], abs=3)


def test_order_of_games_and_sides_do_not_matter() -> None:
    first, second, results, _ = played(200, seed=2)
    order = rng(3).permutation(200)
    straight = elo(first, second, results, rng=rng())
    turned = elo([second[i] for i in order], [first[i] for i in order], 1 - results[order], rng=rng())
    assert turned == straight


def test_equally_seeded_generators_give_the_same_interval_and_others_another() -> None:
    first, second, results, _ = played(100, seed=4)
    assert elo(first, second, results, rng=rng(1)) == elo(first, second, results, rng=rng(1))
    assert elo(first, second, results, rng=rng(1)) != elo(first, second, results, rng=rng(2))


def test_the_interval_covers_the_true_strengths_as_often_as_it_says() -> None:
    covered = []
    for seed in range(60):
        first, second, results, strength = played(400, seed=100 + seed)
        # Every pair draws equally often, so the true expected score is 0.8 p + 0.1.
        truth = expected_ratings(strength)
        found = elo(first, second, results, rng=rng(seed), anchor=0.0, resamples=400)
        covered += [at.low <= true <= at.high for at, true in zip(found.ratings, truth, strict=True)]
    assert 0.90 <= np.mean(covered) <= 0.98


def expected_ratings(strength: np.ndarray) -> np.ndarray:
    """Ratings in the limit of infinitely many games: the same fit, to expected scores."""
    share = 0.1 + 0.8 / (1 + 10 ** ((strength[None, :] - strength[:, None]) / 400))
    one, other = np.triu_indices(len(strength), 1)

    def loss(rating: np.ndarray) -> float:
        difference = (rating[one] - rating[other]) * math.log(10) / 400
        won = share[one, other]
        return float(np.sum(np.logaddexp(0, -difference) * won + np.logaddexp(0, difference) * (1 - won)))

    best = optimize.minimize(loss, np.zeros(len(strength)), method="BFGS", options={"gtol": 1e-9}).x
    return best - best.mean()


def test_a_player_who_never_lost_gets_a_finite_rating_that_says_so() -> None:
    found = elo(["a"] * 10, ["b"] * 10, [1] * 10, rng=rng())
    a, b = found.ratings
    assert found.regularised
    assert a.value - b.value == pytest.approx(400 * math.log10(10.5 / 0.5))  # ten wins and the added draw
    assert a.low < a.value  # the added draw is resampled too: ten wins are not certainty
    assert found.regularised_resamples > 0


def test_only_tables_without_a_maximum_are_regularised() -> None:
    """If a never loses, no maximum exists; one loss to c connects all players in both directions."""
    ring = {("a", "b"): (5, 0), ("b", "c"): (3, 2), ("a", "c"): (5, 0)}
    assert elo(*games(ring), rng=rng()).regularised
    closed = elo(*games(ring | {("a", "c"): (4, 1)}), rng=rng())
    assert not closed.regularised
    assert closed.regularised_resamples > 0  # many resamples omit the only loss
    assert all(math.isfinite(rating.high) for rating in closed.ratings)


def test_long_chains_of_one_sided_results_settle() -> None:
    names = [f"p{index:02}" for index in range(40)]
    pairs = [pair for pair in pairwise(names) for _ in range(200)]
    first, second = zip(*pairs, strict=True)
    found = elo(first, second, np.ones(len(pairs)), rng=rng(), resamples=20)
    steps = -np.diff([rating.value for rating in found.ratings])
    assert steps == pytest.approx(np.full(39, 400 * math.log10(401)), rel=1e-6)


def test_equal_players_are_rated_equal_and_one_game_has_no_interval() -> None:
    pairs = list(combinations("abcd", 2))
    first, second = zip(*pairs, strict=True)
    found = elo(first, second, [0.5] * 6, rng=rng())
    for rating in found.ratings:
        assert (rating.value, rating.low, rating.high) == pytest.approx((1500, 1500, 1500))
    assert math.isnan(elo(["a"], ["b"], [1], rng=rng()).ratings[0].low)


@pytest.mark.parametrize(
    ("first", "second", "results", "said"),
    [
        ([], [], [], "results"),
        (["a"], ["a"], [1], "game 0: 'a' plays against itself"),
        (["a", "b"], ["b"], [1], "2, 1 and 1 games"),
        (["a"], ["b"], [3], "neither 1"),
        (["a", "c"], ["b", "d"], [1, 0], "no chain of games connects all players.*a, b; c, d"),
    ],
)
def test_tables_that_cannot_be_rated_are_refused(first: list, second: list, results: list, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        elo(first, second, results, rng=rng())
