"""A population of twelve, tested without trainings: its decisions, records and lineage plots."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab import search
from mosaic_lab.evaluation.reports.plot import NEUTRAL, Plot
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.plots import sweep_plots
from mosaic_lab.sweeps.population import Population
from mosaic_lab.sweeps.population_plots import BEST
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.segments import lineage
from mosaic_lab.sweeps.space import Space
from mosaic_lab.sweeps.trials import Proposal, Trial, TrialState, TrialWriter

SPACE = Space({"rate": search.loguniform(1e-5, 1e-1), "width": search.choice([32, 64, 128])})
TRAINING = TrainingPlan(TrainRequest(worker="hiker"), [], {"total_timesteps": 10_000})
REQUEST = SweepRequest(
    training=TRAINING.request, search=SPACE, trials=12, metric="skill", sampler="pbt", interval=1000, seed=4
)
PLAN = SweepPlan(REQUEST, TRAINING, SPACE, resumable=True)


def gain(parameters: dict[str, Any]) -> float:
    return 10 - (math.log10(parameters["rate"]) + 2) ** 2


def searched(folder: Path, order: random.Random) -> list[Trial]:
    """Return the trials of a population whose members train up to five at a time and end in random order."""
    log = TrialWriter(folder)
    population = Population(PLAN)
    running: list[Trial] = []
    while True:
        while len(running) < 5 and (following := population.next(log.trials)) is not None:
            if isinstance(following, Proposal):
                runs = {1: f"run {len(log.trials)}-0"}
                running.append(log.propose(following, runs, stop=PLAN.stops[0]))
            else:
                runs = {1: f"run {len(log.trials)}-{following.place}"}
                running.append(log.propose_segment(following, PLAN.stops[following.place], runs, {}))
        if not running:
            log.close()
            return log.trials
        trial = running.pop(order.randrange(len(running)))
        source = trial.segments[-1].source
        before = log.trials[source.trial].segment(source.place) if source is not None else None
        value = gain(trial.parameters) + (before.value or 0.0 if before is not None else 0.0)
        if trial.segments[-1].stop < PLAN.total_timesteps:
            log.end_segment(trial, value, {1: value}, {1: "a checkpoint"})
        else:
            log.end(trial, TrialState.COMPLETED, "", value, {1: value}, trial.segments[-1].stop)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return searched(tmp_path_factory.mktemp("population"), random.Random(0))


def test_the_order_in_which_members_end_decides_nothing(trials: list[Trial], tmp_path: Path) -> None:
    again = searched(tmp_path, random.Random(1))
    assert [one.segments for one in again] == [one.segments for one in trials]
    assert len(trials) == 12 and {len(one.schedule) for one in trials} == {10}
    first = max(gain(one.segments[0].parameters) for one in trials)
    assert max(one.value or 0.0 for one in trials) > 10 * first, "better than the first parameters"


def test_the_lineage_is_drawn(trials: list[Trial], tmp_path: Path) -> None:
    drawn, schedules = sweep_plots(PLAN, trials, {})
    ways, values = drawn.facets
    copied = [
        one for trial in trials for one in trial.segments if one.source and one.source.trial != trial.number
    ]
    path = lineage(trials, max(trials, key=lambda trial: trial.value or 0.0))
    theirs = sum(one.source is not None and one.source.trial != number for number, one in path)
    assert len(copied) == 3 * 9 and theirs > 0
    assert [mark.color for mark in ways.marks].count(NEUTRAL) == len(copied) - theirs
    assert sum(isinstance(mark.color, str) for mark in ways.marks) == 12 * 10
    assert ways.rows[:2] == ("member 0", "member 1")
    [points] = [mark.points for mark in ways.marks if mark.points is not None]
    assert points is not None and points[1].tolist() == [number for number, _ in path]
    [best] = [mark.line for mark in values.marks if mark.color == BEST]
    assert best is not None and best[1].tolist() == [segment.value for _, segment in path]
    assert [facet.title for facet in schedules.facets] == ["log10 rate", "width"]
    assert schedules.facets[1].rows == ("32", "64", "128")
    for plot in (drawn, schedules):
        assert isinstance(plot, Plot)
        assert plot.png(tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_drawn_before_a_segment_has_ended() -> None:
    assert sweep_plots(PLAN, [], {}) == []
