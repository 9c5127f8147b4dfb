"""Plots, tables and files of a sweep's recorded trials."""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from sweeps import stored

from mosaic_lab import MosaicError
from mosaic_lab.evaluation.reports.plot import NEUTRAL, Facet, PlotMark
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.plots import BEST, sweep_plots
from mosaic_lab.sweeps.space import Space
from mosaic_lab.sweeps.table import Intervals, for_files, trials_frame
from mosaic_lab.sweeps.trials import Trial, TrialState, TrialWriter
from mosaic_lab.table_files import write_csv, write_parquet
from mosaic_lab.widgets.evaluation.plot_widgets import PlotFigures
from mosaic_lab.widgets.sweeps.sweep_panel import trials_table

COUNT = 40
PLAN = stored.plan(COUNT)
IMPORTANCE = {"gamma": 0.6, "learning_rate": 0.3, "num_steps": 0.1}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    log, generator = TrialWriter(tmp_path_factory.mktemp("sweep")), random.Random(0)
    for _ in range(COUNT):
        stored.record(log, generator)
    return log.trials


@pytest.fixture
def trials(recorded: list[Trial]) -> list[Trial]:
    """A copy of the trials that the test may change."""
    return deepcopy(recorded)


def in_state(trials: list[Trial], state: TrialState) -> list[Trial]:
    return [one for one in trials if one.state is state]


def facets(
    plan: SweepPlan, trials: list[Trial], shares: Mapping[str, float] = IMPORTANCE
) -> dict[str, Facet]:
    return {facet.title: facet for plot in sweep_plots(plan, trials, shares) for facet in plot.facets}


def marks(facet: Facet) -> dict[str, PlotMark]:
    return {mark.label: mark for mark in facet.marks}


@pytest.mark.parametrize(("mode", "running"), [("max", np.maximum), ("min", np.minimum)])
def test_the_best_so_far_is_a_running_extreme_of_what_completed(
    trials: list[Trial], mode: str, running: np.ufunc
) -> None:
    drawn = marks(
        facets(replace(PLAN, request=structs.replace(PLAN.request, mode=mode)), trials)["episode_return"]
    )
    completed = in_state(trials, TrialState.COMPLETED)
    line = drawn["best"].line
    assert line is not None
    places, values = line
    expected = running.accumulate([one.value for one in completed])
    assert [values[places == one.number][-1] for one in completed] == list(expected)
    assert places[-1] == COUNT - 1, "the line extends to the newest trial"
    best = sorted(completed, key=lambda one: one.value or 0, reverse=mode == "max")[0]
    point = drawn["best"].points
    assert point is not None and list(point[0]) == [best.number], "the point of the best trial"
    points = drawn["pruned"].points
    assert points is not None and drawn["pruned"].color == NEUTRAL
    assert list(points[0]) == [one.number for one in in_state(trials, TrialState.PRUNED)]


def test_curves_of_pruned_trials_are_faint_and_the_best_stands_out(trials: list[Trial]) -> None:
    drawn = marks(facets(PLAN, trials)["Learning curves"])
    best = max(in_state(trials, TrialState.COMPLETED), key=lambda one: one.value or 0)
    pruned = drawn["pruned"]
    assert pruned.color == NEUTRAL and len(pruned.thin) == len(in_state(trials, TrialState.PRUNED))
    assert max(steps[-1] for steps, _ in pruned.thin) < stored.STEPS
    assert len(drawn["completed"].thin) == len(in_state(trials, TrialState.COMPLETED)) - 1
    line = drawn["best"].line
    assert line is not None and drawn["best"].color == BEST
    assert (line[0][-1], line[1][-1]) == (stored.TRAINED, best.value), "trained steps, not requested ones"
    assert pruned.thin_opacity == drawn["completed"].thin_opacity == 1, "readable on dark pages too"
    assert all(steps[-1] == stored.TRAINED for steps, _ in drawn["completed"].thin)


def test_a_plots_legend_has_each_colour_once(trials: list[Trial]) -> None:
    running = replace(trials[-1], state=TrialState.RUNNING, value=None)
    for plot in sweep_plots(PLAN, [*trials[:-1], running], IMPORTANCE):
        named = {(mark.label, mark.color) for facet in plot.facets if not facet.rows for mark in facet.marks}
        assert len({own for _, own in named}) == len(named), named


def test_slices_are_of_the_most_important_parameters_each_on_its_own_scale(trials: list[Trial]) -> None:
    plots = sweep_plots(PLAN, trials, IMPORTANCE)
    assert [plot.title for plot in plots] == ["Trials", "Parameters", "Combinations"]
    assert [facet.title for facet in plots[1].facets][:3] == list(IMPORTANCE)
    assert len(plots[1].facets) == 4 and plots[1].note.endswith("4 of 5 are drawn")
    found = facets(PLAN, trials)
    assert found["learning_rate"].x_label == "log10 learning_rate" and found["gamma"].x_label == "gamma"
    points = marks(found["learning_rate"])["pruned"].points
    pruned = in_state(trials, TrialState.PRUNED)
    assert points is not None
    assert points[0] == pytest.approx([math.log10(one.parameters["learning_rate"]) for one in pruned])
    assert points[1] == pytest.approx([one.value for one in pruned])
    name = "activation_function"
    chosen = facets(PLAN, trials, {**IMPORTANCE, name: 0.2})[name]
    assert chosen.rows == ("tanh", "relu", "leaky_relu") and chosen.x_label == "episode_return"
    places = marks(chosen)["pruned"].points
    assert places is not None
    assert list(places[1]) == [chosen.rows.index(one.parameters[name]) for one in pruned]
    assert not found["num_steps"].rows and found["num_steps"].x_label == "num_steps", "numbers have an x axis"
    assert found["Importance"].rows == tuple(IMPORTANCE)


def without(trials: list[Trial], name: str) -> list[Trial]:
    """Remove a parameter from every second trial, as if a search function had not chosen it."""
    for one in trials[::2]:
        del one.parameters[name]
    return trials


def test_trials_are_drawn_without_what_they_do_not_have(trials: list[Trial]) -> None:
    plan = replace(PLAN, space=Space({}, "def search(trial): ..."))
    found = facets(plan, without(trials, "learning_rate"))
    assert found["learning_rate"].x_label == "log10 learning_rate", "from the distribution in its trials"
    drawn = sum(len(mark.points[0]) for mark in found["learning_rate"].marks if mark.points is not None)
    assert drawn == COUNT // 2
    parallel = found["Parallel coordinates"]
    row = parallel.rows.index("learning_rate")
    lines = [line for mark in parallel.marks for line in (*mark.thin, *([mark.line] if mark.line else []))]
    completed = in_state(trials, TrialState.COMPLETED)
    lacking = sum("learning_rate" not in one.parameters for one in completed)
    assert len(lines) == len(completed) and lacking > 0
    assert sum(row not in rows for _, rows in lines) == lacking
    assert all(np.isfinite(x).all() for x, _ in lines), "a line skips parameters that its trial lacks"


def test_what_all_have_alike_or_one_alone_has_is_no_row(trials: list[Trial]) -> None:
    completed = in_state(trials, TrialState.COMPLETED)
    for one in completed[1:]:
        del one.parameters["gamma"]
    for one in completed:
        one.parameters["num_steps"] = 64
    rows = facets(PLAN, completed)["Parallel coordinates"].rows
    assert "learning_rate" in rows and not {"gamma", "num_steps"} & set(rows)


def test_nothing_is_drawn_before_a_trial_has_a_value(trials: list[Trial]) -> None:
    running = replace(trials[0], state=TrialState.RUNNING, value=None)
    assert sweep_plots(PLAN, [running], {}) == []
    assert next(plot.title for plot in sweep_plots(PLAN, [trials[0], running], {})) == "Trials"


def test_a_value_of_three_seeds_has_its_interval(trials: list[Trial]) -> None:
    table = trials_table(PLAN, trials, Intervals(PLAN.request.aggregate))
    assert [column["title"] for column in table["columns"]][:3] == ["Trial", "State", "episode_return"]
    assert len(table["rows"]) == COUNT
    steps = {row[1]["text"]: row[-2]["key"] for row in table["rows"]}
    assert steps["completed"] == stored.TRAINED
    for trial, row in zip(trials, table["rows"], strict=True):
        value, low, high = map(float, re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", row[2]["text"]).groups())  # type: ignore[union-attr]
        assert low < high and min(trial.values.values()) <= high and low <= max(trial.values.values())
        assert value == pytest.approx(trial.value, rel=1e-2) and row[2]["key"] == trial.value
    trials[0].parameters["learning_rate"] = 0.00030000000000000003
    [rate] = [place for place, column in enumerate(table["columns"]) if column["title"] == "learning_rate"]
    first, *_ = trials_table(PLAN, trials, Intervals(PLAN.request.aggregate))["rows"]
    assert first[rate]["text"] == "0.0003", "rounded as in all views of settings"
    one_seed = [replace(one, values={1: one.value or 0.0}) for one in trials]
    assert "[" not in trials_table(PLAN, one_seed, Intervals("mean"))["rows"][0][2]["text"]


def test_trials_go_into_files_with_mixed_values_as_text(
    trials: list[Trial], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed: list[Any] = ["auto", 64, 0.5, True]
    for trial in trials:
        trial.parameters["batch"] = mixed[trial.number % 4]
    table = for_files(trials_frame(without(trials, "gamma"), "mean"))
    assert list(table["trial"]) == list(range(COUNT))
    assert table["runs"][0].split() == trials[0].run_ids
    stored_table = pd.read_parquet(write_parquet(table, tmp_path / "trials.parquet"))
    pd.testing.assert_frame_equal(stored_table.astype(table.dtypes.to_dict()), table)
    read = pd.read_csv(write_csv(table, tmp_path / "trials.csv"))
    assert list(read["parameters.batch"][:4]) == ["auto", "64", "0.5", "True"]
    assert read["value"].to_list() == table["value"].to_list()
    assert read["parameters.gamma"].isna().sum() == COUNT // 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MosaicError, match=r"pyarrow, which is not installed .*\[parquet\].* to_csv"):
        write_parquet(table, tmp_path / "trials.parquet")


def test_a_panel_names_each_colour_once(trials: list[Trial]) -> None:
    plots = sweep_plots(PLAN, trials, IMPORTANCE)
    named = [entry["label"] for plot in plots for entry in PlotFigures(plot).box.children[0].legend]
    assert (
        len(plots) == 3 and sorted(named) == sorted({*named}) and {"best", "completed", "pruned"} <= {*named}
    )
