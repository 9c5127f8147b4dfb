"""Decisions of a population depend only on the seed, the round and the values."""

from __future__ import annotations

import importlib
import random
import re
from typing import Any

import pytest

from mosaic_lab import ConfigurationError, search
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sweeps.population import copies, explored, perturbed, sample
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.segments import checked_stops, population_stops, promotion_stops
from mosaic_lab.sweeps.space import Choice, Distribution, Space
from mosaic_lab.validation import Problems
from mosaic_lab.workers.shims import bundled_shims


class Low(random.Random):
    """Generator of numbers near 0: every value is drawn again, and perturbed downward."""

    def random(self) -> float:
        return 0.99 if self.high else 0.01

    high = False


class High(Low):
    """Generator of numbers near 1: no value is drawn again, and each is perturbed upward."""

    high = True


def test_the_worst_quarter_copies_the_best() -> None:
    values = {number: float(number) for number in range(8)}
    for seed in range(20):
        found = copies(values, True, random.Random(seed))
        assert set(found) == {0, 1} and set(found.values()) <= {6, 7}
        assert set(copies(values, False, random.Random(seed))) == {6, 7}
        assert copies(values, True, random.Random(seed)) == found
    assert copies({4: 1.0, 7: 2.0}, True, random.Random(0)) == {4: 7}
    assert copies({4: 1.0, 5: 3.0, 7: 2.0}, True, random.Random(0)) == {4: 5}
    assert copies({4: 1.0}, True, random.Random(0)) == {}


@pytest.mark.parametrize(
    ("distribution", "value", "down", "up"),
    [
        (search.loguniform(1e-5, 1e-2), 1e-3, 8e-4, 1.2e-3),
        (search.loguniform(1e-5, 1e-2), 9e-3, 7.2e-3, 1e-2),
        (search.uniform(0.9, 1.0), 0.95, 0.94, 0.96),
        (search.uniform(-1.0, 1.0), 0.0, -0.2, 0.2),
        (search.integer(1, 8, log=True), 2, 1, 3),
        (search.integer(0, 100), 95, 85, 100),
        (search.choice([64]), 64, 64, 64),
    ],
)
def test_a_value_moves_within_its_range(distribution: Distribution, value: Any, down: Any, up: Any) -> None:
    found = [perturbed(value, distribution, generator) for generator in (Low(), High())]
    assert found == pytest.approx([down, up])
    assert [type(one) for one in found] == [type(value)] * 2


def test_a_choice_moves_to_a_neighbour() -> None:
    steps = Choice((64, 128, 256))
    found = {value: {perturbed(value, steps, random.Random(i)) for i in range(20)} for value in steps.values}
    assert found == {64: {128}, 128: {64, 256}, 256: {128}}


def test_a_quarter_of_the_copied_values_is_drawn_again() -> None:
    space = Space({"rate": search.loguniform(1e-5, 1e-2), "width": Choice((1, 2))})
    explorations = [explored({"rate": 1e-3, "width": 1}, space, random.Random(i)) for i in range(400)]
    near = sum(one["rate"] in (8e-4, 1.2e-3) for one in explorations)
    assert near == pytest.approx(300, abs=30)
    assert all(1e-5 <= sample(space.parameters["rate"], random.Random(i)) <= 1e-2 for i in range(100))
    assert {sample(search.integer(1, 3), random.Random(i)) for i in range(50)} == {1, 2, 3}


def test_segments_end_at_the_last_step() -> None:
    assert population_stops(6000, 2000) == (2000, 4000, 6000)
    assert population_stops(7000, 2000) == (2000, 4000, 7000), "no segment is shorter than the interval"
    assert promotion_stops(9000) == (1000, 3000, 9000)
    assert promotion_stops(2) == (1, 2)


@pytest.mark.parametrize(
    ("worker", "refused"),
    [
        (
            "rllib",
            "search['lr']: a resumed rllib ppo cannot change it: RLlib's own checkpoint brings settings",
        ),
        ("cleanrl", ""),
    ],
)
def test_a_population_needs_a_worker_that_changes_hyperparameters_at_a_resume(
    worker: str, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """According to the workers' metadata, which are read without importing their libraries."""
    shim = bundled_shims()[worker].folder
    monkeypatch.syspath_prepend(str(shim))
    _, capabilities = importlib.import_module(f"{shim.name}.cli").get_worker_metadata()
    training = TrainRequest(worker=worker, algorithm="ppo", total_timesteps=100)
    space = Space({"lr" if worker == "rllib" else "learning_rate": search.loguniform(1e-5, 1e-2)})
    known = capabilities.to_dict()
    problems = Problems()
    stops = checked_stops(
        SweepRequest(training=training, search={}, sampler="pbt", interval=50), 1, space, known, problems
    )
    assert stops == (50, 100) and problems.found is bool(refused)
    if refused:
        with pytest.raises(ConfigurationError, match=re.escape(refused)):
            problems.check()
    promoted = Problems()
    checked_stops(
        SweepRequest(training=training, search={}, pruner="asha-promotion"), 1, space, known, promoted
    )
    assert not promoted.found, "promotion changes no hyperparameter"
