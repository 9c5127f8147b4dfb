"""Texts of a panel: numbers, durations, names of runs; and the refresh intervals of visible panels."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from mosaic_lab.number_format import duration, memory, milliseconds, number, tick_texts
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import (
    differing_settings,
    distinct_labels,
    distinct_names,
    run_settings,
    shared_and_own,
)
from mosaic_lab.widgets.page.visibility import FASTEST_SECONDS, Visibility
from mosaic_lab.widgets.runs.run_view import run_views

NUMBER_TEXTS = Path(__file__).parents[3] / "js" / "tests" / "number-texts.json"


def test_numbers_have_three_digits_and_a_unit_and_durations_two_units() -> None:
    """The page must format them identically: its test reads the same file."""
    texts = json.loads(NUMBER_TEXTS.read_text())
    assert [number(value) for value, _ in texts["number"]] == [text for _, text in texts["number"]]
    assert [duration(value) for value, _ in texts["duration"]] == [text for _, text in texts["duration"]]
    latencies = texts["milliseconds"]
    assert [milliseconds(value) for value, _ in latencies] == [text for _, text in latencies]
    assert [number(math.nan), number(math.inf)] == ["–", "∞"]


def test_ticks_of_almost_equal_values_differ() -> None:
    assert tick_texts([0, 0.25, 0.5]) == ["0", "0.25", "0.5"]
    assert tick_texts([499.98, 500.0, 500.02]) == ["499.98", "500", "500.02"]
    assert tick_texts([12_345.5, 12_346.0]) == ["12.3455k", "12.346k"]
    assert tick_texts([2.9998e-4, 3e-4]) == ["2.9998e-04", "3.0000e-04"]


def test_what_runs_share_is_the_title() -> None:
    labels = ["cleanrl ppo CartPole-v1 seed 1", "cleanrl ppo CartPole-v1 seed 2"]
    assert shared_and_own(labels) == ("cleanrl ppo CartPole-v1", ["seed 1", "seed 2"])
    longer = ["cleanrl ppo CartPole-v1", "cleanrl ppo CartPole-v1 seed 3"]
    assert shared_and_own(longer) == ("cleanrl ppo CartPole-v1", ["", "seed 3"]), "title repeated per line"
    both = ["cleanrl ppo CartPole-v1 seed 1", "cleanrl dqn CartPole-v1 seed 1"]
    assert shared_and_own(both) == ("cleanrl CartPole-v1 seed 1", ["ppo", "dqn"])


def test_runs_of_one_name_are_distinguished_by_their_settings_or_else_by_their_ids(tmp_path: Path) -> None:
    low, high = (written(tmp_path / f"run-{gamma}", {"gamma": gamma}) for gamma in (0.9, 0.99))
    again = written(tmp_path / "run-again", {"gamma": 0.9}, seed=2)
    assert distinct_labels(["", ""], [low, high]) == ["gamma=0.9", "gamma=0.99"]
    assert distinct_labels(["ppo", "ppo"], [low, again]) == ["ppo 0.9", "ppo again"]
    assert distinct_labels(["", "ppo"], [low, high]) == ["gamma=0.9", "ppo"]
    assert distinct_labels(["ppo", "ppo", "dqn"], [low, high, again]) == [
        "ppo gamma=0.9",
        "ppo gamma=0.99",
        "dqn",
    ]
    assert distinct_labels([""], [low]) == [""]


def test_a_setting_that_one_run_was_given_is_shown_with_the_values_of_all(tmp_path: Path) -> None:
    """Values as resolved by the worker; folders and settings derived from others are not shown."""
    default = {"learning_rate": 0.0003, "num_envs": 4, "batch_size": 512}
    plain = written(tmp_path / "a", {}, default, launch_dir="/here")
    same = written(tmp_path / "b", {"learning_rate": 0.0003}, default, launch_dir="/there")
    fast = written(tmp_path / "c", {"learning_rate": 0.001}, {**default, "learning_rate": 0.001})
    wide = written(tmp_path / "d", {"num_envs": 8}, {**default, "num_envs": 8, "batch_size": 1024})
    assert differing_settings([plain, fast]) == ["learning_rate=0.0003", "learning_rate=0.001"]
    assert differing_settings([plain, same]) == ["", ""]
    assert run_settings(plain) == run_settings(same)
    assert differing_settings([plain, wide]) == ["num_envs=4", "num_envs=8"]
    saved = {"resume_from": "/runs/20261121-cleanrl/checkpoints/step-24000", "every_timesteps": None}
    resumed = written(tmp_path / "e", {}, default, checkpoint=saved)
    assert differing_settings([plain, resumed]) == ["resume_from=nothing", "resume_from=step-24000"]
    unresolved = written(tmp_path / "f", {})
    assert differing_settings([unresolved, fast]) == ["learning_rate=default", "learning_rate=0.001"]
    sampled = written(tmp_path / "g", {"learning_rate": 0.1 * 3e-3 + 1e-19}, {})
    tiny = written(tmp_path / "h", {"learning_rate": 3e-5 + 4e-21}, {})
    assert differing_settings([sampled, tiny]) == ["learning_rate=0.0003", "learning_rate=3e-05"]


def written(
    folder: Path, given: dict[str, Any], resolved: dict[str, Any] | None = None, **config: Any
) -> Run:
    """Write the folder of a run with these hyperparameters."""
    folder.mkdir()
    config = {"algorithm": "ppo", "env_id": "CartPole-v1", "seed": 1, "hyperparameters": given, **config}
    (folder / "config.json").write_text(json.dumps({**config, "run_id": folder.name, "run_dir": str(folder)}))
    (folder / "launch.json").write_text(json.dumps({"worker": "cleanrl", "hyperparameters": resolved}))
    return Run(folder)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_panel_in_sight_is_drawn_often_and_one_out_of_sight_never() -> None:
    visibility = Visibility(Clock())
    assert visibility.update([["a", 0, True]])
    assert visibility.interval() == FASTEST_SECONDS
    assert not visibility.update([["a", 0, True], ["a", 1, True]])  # a heartbeat, not a new view
    visibility.update([["a", 0, True], ["a", 1, True], ["a", 2, False]])
    assert visibility.interval() == math.inf


def test_of_two_views_that_speak_in_one_moment_both_are_heard() -> None:
    visibility = Visibility(Clock())
    visibility.update([["a", 0, True]])
    assert visibility.update([["a", 0, True], ["b", 0, True], ["a", 1, False]])
    assert visibility.interval() == FASTEST_SECONDS
    visibility.update([["b", 0, True], ["a", 1, False], ["b", 1, False]])
    assert visibility.interval() == math.inf


def test_the_updates_for_a_page_that_went_silent_are_few() -> None:
    clock = Clock()
    visibility = Visibility(clock)
    visibility.update([["a", 0, True]])
    updates = 0
    while clock.now < 24 * 3600:
        clock.now += visibility.interval()
        updates += 1
    assert updates < 300  # 200 of them in the first 40 seconds
    visibility.update([["b", 0, True]])
    assert visibility.interval() == FASTEST_SECONDS


def test_a_run_is_called_by_its_own_name_where_it_has_one(tmp_path: Path) -> None:
    low, high, again = (
        written(tmp_path / f"run-{name}", {"gamma": gamma})
        for name, gamma in (("a", 0.9), ("b", 0.99), ("c", 0.99))
    )
    low.name = "baseline"
    assert distinct_names([low]) == ["baseline"]
    assert run_views([low], alone=True)[0] == "baseline"
    assert distinct_names([low, high]) == ["baseline", "run-b"]
    again.name = "baseline"
    assert distinct_names([low, again]) == ["baseline a", "baseline c"]
    assert [view.label for view in run_views([low, high], alone=False)[1]] == ["baseline", "run-b"]


def test_memory_is_in_mb_or_gb() -> None:
    assert [memory(512), memory(1331.2), memory(None)] == ["512 MB", "1.3 GB", "–"]
