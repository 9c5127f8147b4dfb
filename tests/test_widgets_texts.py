"""What a panel writes: numbers, durations, names of runs, and how often it writes at all."""

from __future__ import annotations

import math

import pytest

from mosaic_lab.widgets.audience import FASTEST_SECONDS, Audience
from mosaic_lab.widgets.formats import duration, memory, number
from mosaic_lab.widgets.labels import differing, shared_and_own, told_apart


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (231, "231"), (231.44, "231"), (9_999, "9,999"), (9_999.6, "10k"),
        (64_800, "64.8k"),
        (999_600, "1M"), (1_234_567, "1.23M"), (2e9, "2G"), (0.25, "0.25"), (0.0025, "0.0025"),
        (3e-7, "3.0e-07"),
        (-1_500_000, "−1.5M"), (math.nan, "–"), (None, "–"), (math.inf, "∞"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.84, "0.8s"), (42, "42s"), (59.6, "1m 00s"), (200, "3m 20s"), (3_900, "1h 05m"),
     (183_600, "2d 03h"), (None, "–")],
)  # fmt: skip
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_memory_is_in_mb_or_gb() -> None:
    assert [memory(512), memory(1331.2), memory(None)] == ["512 MB", "1.3 GB", "–"]


def test_what_runs_share_is_the_title() -> None:
    labels = ["cleanrl ppo CartPole-v1 seed 1", "cleanrl ppo CartPole-v1 seed 2"]
    assert shared_and_own(labels) == ("cleanrl ppo CartPole-v1", ["seed 1", "seed 2"])
    both = ["cleanrl ppo CartPole-v1 seed 1", "cleanrl dqn CartPole-v1 seed 1"]
    assert shared_and_own(both) == ("cleanrl CartPole-v1 seed 1", ["ppo", "dqn"])


def test_runs_of_one_name_are_told_apart_by_their_settings_or_else_by_their_ids() -> None:
    configs = [{"seed": 1, "hyperparameters": {"gamma": gamma}} for gamma in (0.9, 0.99)]
    assert told_apart(["", ""], configs, ["a", "b"]) == ["gamma=0.9", "gamma=0.99"]
    assert told_apart(["ppo", "ppo"], configs[:1] * 2, ["a", "b"]) == ["ppo a", "ppo b"]
    assert differing([{"seed": 1, "run_id": "a"}, {"seed": 2, "run_id": "b"}]) == [{}, {}]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_panel_in_sight_is_drawn_often_and_one_out_of_sight_never() -> None:
    audience = Audience(Clock())
    assert audience.hear([["a", 0, True]])
    assert audience.interval() == FASTEST_SECONDS
    assert not audience.hear([["a", 0, True], ["a", 1, True]])  # a sign of life, no new view
    audience.hear([["a", 0, True], ["a", 1, True], ["a", 2, False]])
    assert audience.interval() == math.inf


def test_of_two_views_that_speak_in_one_moment_both_are_heard() -> None:
    audience = Audience(Clock())
    audience.hear([["a", 0, True]])
    assert audience.hear([["a", 0, True], ["b", 0, True], ["a", 1, False]])
    assert audience.interval() == FASTEST_SECONDS
    audience.hear([["b", 0, True], ["a", 1, False], ["b", 1, False]])
    assert audience.interval() == math.inf


def test_the_updates_for_a_page_that_went_silent_are_few() -> None:
    clock = Clock()
    audience = Audience(clock)
    audience.hear([["a", 0, True]])
    updates = 0
    while clock.now < 24 * 3600:
        clock.now += audience.interval()
        updates += 1
    assert updates < 300  # 200 of them in the first 40 seconds
    audience.hear([["b", 0, True]])
    assert audience.interval() == FASTEST_SECONDS
