"""An evaluation's remaining time when the operators' episodes differ in length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from evaluation.evaluation_fixtures import Evaluate, odd
from support import wait_until

from mosaic_lab import operators
from mosaic_lab.evaluation.evaluation import remaining_seconds
from mosaic_lab.evaluation.plan import EpisodeJob

EPISODES = 25


def remaining(ends: dict[str, Iterable[float]], now: float) -> float | None:
    """Estimate the time left for 25 episodes per operator, two at a time, given when the finished ones ended.
    Each operator's arena plays without a pause from time 0; the recorded seconds exclude a reset of 0.5 s."""
    ended: dict[Any, dict[str, Any]] = {}
    for label, times in ends.items():
        begin = 0.0
        for seed, end in enumerate(times):
            record = {"operator": label, "arena": label, "timestamp": end, "seconds": end - begin - 0.5}
            ended[label, seed, 0], begin = record, end
    jobs = [EpisodeJob(label, seed, 0, seed, seed, seed) for label in ends for seed in range(EPISODES)]
    return remaining_seconds(ended, jobs, 2, now)


def every(seconds: int, until: int) -> range:
    return range(seconds, until + 1, seconds)


def test_each_operator_counts_with_its_own_episodes() -> None:
    early = remaining({"long": every(7, 14), "short": every(1, 14)}, now=14)
    assert early == pytest.approx((23 * 7 + 11 * 1) / 2, rel=0.05)
    late = remaining({"long": every(7, 28), "short": every(1, 25)}, now=28)
    assert late == pytest.approx(21 * 7 / 2, rel=0.05)
    last = remaining({"long": every(7, 24 * 7), "short": every(1, 25)}, now=24 * 7)
    assert last == pytest.approx(7, rel=0.05), "one episode is not played by two arenas"


def test_an_operator_without_an_ended_episode_counts_as_the_others() -> None:
    ends = {"long": every(4, 20), "short": every(2, 20), "new": ()}
    assert remaining(ends, now=20) == pytest.approx((20 * 4 + 15 * 2 + 25 * 3) / 2, rel=0.05)


def test_nothing_is_known_of_a_beginning_a_standstill_and_an_end() -> None:
    assert remaining({"one": (1,)}, now=1) is None
    assert remaining({"one": (1, 2)}, now=11) is not None
    assert remaining({"one": (1, 2)}, now=13) is None
    assert remaining({"one": every(1, EPISODES)}, now=EPISODES) is None


def test_episodes_that_end_together_have_taken_their_shares_of_the_time() -> None:
    jobs = [EpisodeJob("long", seed, 0, seed, seed, seed) for seed in range(EPISODES)]
    record = {"operator": "long", "arena": "long", "timestamp": 16.0, "seconds": 1.0}
    ended = {job.key: record for job in jobs[:16]}
    assert remaining_seconds(ended, jobs, 2, 16.0) == pytest.approx((EPISODES - 16) / 2)


@pytest.mark.usefixtures("odd_home")
def test_a_slow_operator_is_not_thought_as_fast_as_a_quick_one(start_evaluation: Evaluate) -> None:
    # Slow in the last step of each episode. Its own deadline makes it play one episode at a time.
    slow = operators.worker("odd", behaviour="slow", at=20, seconds=1.0, deadline=30)
    players = {"slow": slow, "quick": operators.worker("odd")}
    evaluation = start_evaluation(**odd(operators=players, seeds=range(EPISODES), parallel=2))

    def played() -> list[str]:
        return [record["operator"] for record in evaluation.records()]

    wait_until(lambda: played().count("quick") == EPISODES and "slow" in played())
    left = wait_until(lambda: evaluation.time_left)
    assert left >= 0.95 * (EPISODES - played().count("slow")) / 2, "each takes a second, two play at a time"
