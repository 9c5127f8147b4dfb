"""Decisions of a sweep, tested without trainings: proposals and pruning are the same after a restart."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mosaic_lab import search
from mosaic_lab.sweeps.decisions import REPORTS, Decisions
from mosaic_lab.sweeps.space import Choice, Space
from mosaic_lab.sweeps.trial_runs import aggregated
from mosaic_lab.sweeps.trials import Trial, TrialState

TOTAL = 27_000
SPACE = Space(
    {
        "rate": search.loguniform(1e-5, 1e-2),
        "gamma": search.uniform(0.9, 0.999),
        "steps": search.integer(1, 64, log=True),
        "activation": search.choice(["tanh", "relu", None]),
    }
)
LISTS = Space({"rate": search.choice([1e-4, 1e-3]), "layers": search.integer(1, 3)})
PARALLEL = 3


def decisions(trials: list[Trial], pruner: str = "none", sampler: str = "random", **given: Any) -> Decisions:
    about = {"seed": 1, "maximize": True, "total": TOTAL, **given}
    return Decisions(SPACE, pruner=pruner, sampler=sampler, trials=copy.deepcopy(trials), **about)


def proposed(decisions: Decisions, trials: list[Trial]) -> Trial:
    proposal = decisions.propose()
    assert proposal is not None
    trials.append(Trial(len(trials), *proposal, runs={1: "run"}, started=0.0))
    return trials[-1]


def report(decisions: Decisions, trial: Trial, place: int, value: float) -> None:
    """Report a value and record in the trial what a sweep's log records."""
    step = TOTAL * place // REPORTS
    trial.pruned, rungs = decisions.report(trial.number, step, value)
    trial.reports[step], trial.value = value, value
    trial.rungs |= rungs


def end(decisions: Decisions, trial: Trial) -> None:
    trial.state = TrialState.PRUNED if trial.pruned else TrialState.COMPLETED
    decisions.end(trial)


def reports(skills: list[float]) -> Iterator[tuple[int, int, float]]:
    """Yield trial, place and value of linear curves, PARALLEL trials at a time."""
    for first in range(0, len(skills), PARALLEL):
        for place in range(1, REPORTS + 1):
            for number, skill in list(enumerate(skills))[first : first + PARALLEL]:
                yield number, place, skill * place


def decided(pruner: str, skills: list[float], restart: int = 0, maximize: bool = True) -> list[int | None]:
    """Return the step at which each trial is pruned, None if it completes. After every ``restart`` reports
    the decisions are rebuilt from the trials."""
    trials: list[Trial] = []
    made = decisions(trials, pruner, maximize=maximize)
    for count, (number, place, value) in enumerate(reports(skills), 1):
        if number == len(trials):
            proposed(made, trials)
        trial = trials[number]
        if trial.state is not TrialState.RUNNING:
            continue
        if place < REPORTS:
            report(made, trial, place, value)
        if trial.pruned or place == REPORTS:
            trial.value = value
            end(made, trial)
        if restart and count % restart == 0:
            made = decisions(trials, pruner, maximize=maximize)
    return [max(one.reports) if one.pruned else None for one in trials]


SKILLS = [8.0, 20.0, 3.0, *(float(7 * number % 23) for number in range(1, 25))]
"""Gain from one report to the next, for each of 27 trials."""


def test_asha_ends_a_bad_trial_at_a_ninth_of_the_steps_and_the_best_never() -> None:
    skills = [*SKILLS[:20], 0.1, 99.0, *SKILLS[22:]]
    ends = decided("asha", skills)
    assert ends[20] == TOTAL // 9 and ends[21] is None
    assert {one for one in ends if one is not None} == {TOTAL // 9, TOTAL // 3}
    assert 4 <= ends.count(None) <= 9, "about a third pass each of two rungs"
    mirrored = decided("asha", [-one for one in skills], maximize=False)
    assert mirrored == ends


def test_hyperband_ends_bad_trials_at_the_rung_of_their_bracket_and_the_best_never() -> None:
    skills = [*(10.0 + number % 5 for number in range(15)), *([0.1] * 9), 99.0, 99.5, 99.9]
    ends = decided("hyperband", skills)
    assert ends[24:] == [None] * 3
    assert {TOTAL // 9, TOTAL // 3} <= set(ends[15:24]) <= {TOTAL // 9, TOTAL // 3, None}


@pytest.mark.parametrize("pruner", ["asha", "hyperband", "median"])
@pytest.mark.parametrize("constant", [0.1, -500.0])
def test_trials_with_the_same_return_over_any_number_of_episodes_are_not_pruned(
    pruner: str, constant: float
) -> None:
    trials: list[Trial] = []
    made = decisions(trials, pruner)
    for episodes in (20, 3, 7, 6, 5, 11, 13, 17, 19):
        trial = proposed(made, trials)
        value = aggregated([float(np.full(episodes, constant).mean())], "mean")
        for place in range(1, REPORTS):
            report(made, trial, place, value)
            assert not trial.pruned, (episodes, place)
        end(made, trial)


@pytest.mark.parametrize("pruner", ["asha", "hyperband", "median"])
def test_decisions_that_are_made_of_the_trials_again_are_the_same(pruner: str) -> None:
    undisturbed = decided(pruner, SKILLS)
    assert decided(pruner, SKILLS, restart=7) == undisturbed
    assert None in undisturbed and len(set(undisturbed)) > 1


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid", "qmc", "cma-es"])
def test_each_sampler_proposes_values_of_the_space_and_the_same_after_a_restart(sampler: str) -> None:
    space = LISTS if sampler == "grid" else SPACE

    def made(trials: list[Trial], seed: int = 3) -> Decisions:
        return Decisions(
            space, seed=seed, sampler=sampler, pruner="none", maximize=True, total=TOTAL,
            trials=copy.deepcopy(trials),
        )  # fmt: skip

    trials: list[Trial] = []
    used = made(trials)
    while len(trials) < 24 and (proposal := used.propose()) is not None:
        trial = Trial(len(trials), *proposal, runs={}, started=0.0)
        if len(trials) % 8 == 5 and sampler != "cma-es":
            assert made(trials).propose() == proposal
        trials.append(trial)
        trial.value = -abs(float(trial.parameters["rate"]) - 1e-3)
        end(used, trial)
    assert len(trials) == (6 if sampler == "grid" else 24)
    assert (made([], seed=4).propose() == trials[0].proposal) is (sampler == "grid")
    for name, one in space.parameters.items():
        values = [trial.parameters[name] for trial in trials]
        if isinstance(one, Choice):
            assert set(values) <= set(one.values) and len(set(values)) > 1
        else:
            assert all(one.low <= value <= one.high for value in values) and len(set(values)) > 2
            assert {type(value) for value in values} == {int if one.whole else float}


def test_importance_names_the_parameter_that_matters() -> None:
    trials: list[Trial] = []
    made = decisions(trials)
    for _ in range(40):
        trial = proposed(made, trials)
        trial.value = 100 * trial.parameters["gamma"] + trial.parameters["rate"]
        end(made, trial)
    found = made.importance()
    assert next(iter(found)) == "gamma" and found["gamma"] > 0.7
    assert sum(found.values()) == pytest.approx(1) and set(found) == set(SPACE.parameters)
    equal = [replace(one, value=1.0) for one in trials]
    for few, reason in (
        (trials[:1], "it needs at least 2 completed trials, and 1 completed"),
        (equal, "all 40 completed trials have the same value, 1"),
    ):
        none = decisions(few).importance()
        assert none == {} and repr(none) == f"<no parameter importance: {reason}>"
    one_value = Decisions(
        Space({"rate": search.choice([0.1])}), seed=1, sampler="random", pruner="none", maximize=True,
        total=TOTAL,
    )  # fmt: skip
    for number in range(3):
        proposal, state = one_value.propose(), TrialState.COMPLETED
        assert proposal is not None
        one_value.end(Trial(number, *proposal, runs={}, started=0.0, state=state, value=float(number)))
    assert one_value.importance().reason == "all 3 completed trials have the same parameters"
