"""Charts of evaluations: they show the numbers of the tables and are saved as PNG without a notebook."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluation.evaluation_fixtures import Evaluate
from PIL import Image
from support import start_peer, store

from mosaic_lab import RunGroup, operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import learning_curve_plot
from mosaic_lab.evaluation.reports.plot import Facet, Plot, PlotMark
from mosaic_lab.widgets.charts.chart import EMPTY
from mosaic_lab.widgets.evaluation.plot_widgets import PlotFigures

PNG = b"\x89PNG\r\n\x1a\n"
CARTPOLE = "CartPole-v1"


def test_averages_and_differences_are_charts_and_pictures(start_evaluation: Evaluate, tmp_path: Path) -> None:
    two = {"random": operators.random(), "still": operators.passive()}
    evaluation = start_evaluation(CARTPOLE, two, seeds=range(12)).wait(120)
    with pytest.raises(ConfigurationError, match="target: scores must be numbers"):
        evaluation.summary("length")  # type: ignore[arg-type]
    summary = evaluation.summary(target=500)
    plot = evaluation.interval_plot(target=500)
    assert [facet.title for facet in plot.facets] == ["Mean", "Median", "IQM", "Optimality gap"]
    mark = plot.facets[0].marks[0]
    assert plot.facets[0].rows == ("random", "still")
    assert mark.points is not None and mark.line is not None
    assert mark.points[0].tolist() == [summary["mean"]["random"]]
    assert mark.line[0].tolist() == summary.loc["random", ["mean_low", "mean_high"]].to_list()
    assert plot.rng == summary.attrs["rng"]
    assert plot.png(tmp_path / "intervals.png").read_bytes().startswith(PNG)

    paired = evaluation.paired_plot("random", "still", rng=5)
    differences = evaluation.compare("random", "still", rng=5).difference.differences
    points = paired.facets[0].marks[-1].points
    assert points is not None
    assert points[1].tolist() == sorted(differences)
    assert paired.rng == 5
    wins, ties = sum(one > 0 for one in differences), sum(one == 0 for one in differences)
    outcome = f"random wins on {wins} of 12 seeds, ties on {ties}, loses on {12 - wins - ties}"
    assert paired.note.startswith(outcome)
    assert "+0 [0, 0] on 12 seeds, all differences equal; P" in repr(evaluation.compare("still", "still"))
    alike = evaluation.paired_plot("still", "still")
    assert alike.note.startswith("still wins on 0 of 12 seeds, ties on 12, loses on 0")
    assert [mark.label for mark in paired.facets[0].marks] == [
        "no difference",
        "mean, 95% interval",
        "one seed",
    ]
    assert paired.png(tmp_path / "pairs.png").read_bytes().startswith(PNG)
    with Image.open(tmp_path / "pairs.png") as file:
        assert "rng=5" in file.info["Description"], "the seed that reproduces the plot is in the metadata"
    noted_otherwise = replace(paired, note="read it with care").png(tmp_path / "note.png")
    assert noted_otherwise.read_bytes() != (tmp_path / "pairs.png").read_bytes()
    with pytest.raises(ConfigurationError, match=r"written as a \.png file, not as 'pairs\.svg'"):
        paired.png(tmp_path / "pairs.svg")


def test_a_plot_is_written_where_there_never_was_a_lab(tmp_path: Path) -> None:
    code = """from mosaic_lab.evaluation.reports.plot import Facet, PlotMark, Plot
points = [0.0, 1.0], [2.0, 3.0]
Plot("title", "note", (Facet("facet", "x", (PlotMark("a", 0, points=points),)),), rng=1).png("plot.png")"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "plot.png").read_bytes().startswith(PNG)


def test_a_learning_curve_is_the_mean_over_training_runs(tmp_path: Path) -> None:
    with store(tmp_path) as supervisor:
        runs = RunGroup([start_peer(supervisor, "train", seed=seed) for seed in range(1, 6)], "all").wait(60)
        twins = RunGroup(runs[:2], "twins")
        plot = learning_curve_plot(twins, rng=3, metric="value")
        again = learning_curve_plot({"twins": twins}, rng=3, metric="value")
    (mark,) = plot.facets[0].marks
    assert mark.label == "twins (2 trainings)"
    assert mark.line is not None and mark.band is None and len(mark.thin) == 2
    (same,) = again.facets[0].marks
    np.testing.assert_array_equal(mark.line, same.line)
    assert plot.note.endswith("intervals (of fewer than 5 trainings: each training)")
    (many,) = learning_curve_plot({"five": runs}, metric="value").facets[0].marks
    assert many.band is not None and many.thin == ()
    one = learning_curve_plot({"one": runs[0]}, metric="value")
    (alone,) = one.facets[0].marks
    assert (alone.label, alone.band) == ("one (1 training)", None)
    assert one.note.endswith("one training says nothing about another training seed")
    assert alone.line is not None
    (bare,) = learning_curve_plot(runs[0], metric="value").facets[0].marks
    assert bare.label == f"{runs[0].label} (1 training)"
    with pytest.raises(ConfigurationError, match="'nothing' was not reported; known: system"):
        learning_curve_plot(twins, rng=3, metric="nothing")
    with pytest.raises(ConfigurationError, match="rng=None: must be an integer ≥ 0"):
        learning_curve_plot(runs, rng=None)  # type: ignore[arg-type]


def test_means_and_medians_of_the_same_returns_have_one_axis() -> None:
    def facet(title: str, low: float) -> Facet:
        mark = PlotMark("random", 0, points=(np.array([low, 500.0]), np.zeros(2)))
        return Facet(title, "return", (mark,), ("random",))

    figures = PlotFigures(Plot("Returns", "", (facet("Mean", 21.0), facet("Median", 8.0)), rng=0))
    mean, median = (part.axes[0] for part in figures.box.children[1].children[::2])
    assert mean.tick_values.tolist() == median.tick_values.tolist() == [0, 200, 400]
    assert (mean.scale.min, mean.scale.max) == (median.scale.min, median.scale.max) == (8, 500)
    figures.close()


@pytest.mark.parametrize("rows", [(), ("random", "still")])
def test_a_figure_has_no_scale_before_there_are_results_and_few_round_numbers_then(
    rows: tuple[str, ...],
) -> None:
    def plot(*marks: PlotMark) -> Plot:
        return Plot("Returns", "", (Facet("Mean", "return", marks, rows),), rng=0)

    figures = PlotFigures(plot(PlotMark("random", 0), PlotMark("still", 1)))
    row = figures.box.children[1]
    assert EMPTY in row._dom_classes, "axes without data are hidden"
    values = np.linspace(-6.5, 520.7, 60)
    points = (values, np.zeros(60)) if rows else (np.arange(60.0), values)
    figures.draw(plot(PlotMark("random", 0, points=points), PlotMark("still", 1)))
    assert EMPTY not in row._dom_classes
    numbered = row.children[0].axes[0 if rows else 1]
    assert numbered.tick_values.tolist() == ([0, 200, 400] if rows else [0, 100, 200, 300, 400, 500])
    pointer = row.children[1]  # follows its figure; displays the values under the pointer
    assert pointer.labels == [[], ["random"] * 60]
    assert (pointer.x_label, pointer.rows) == ("return", list(rows))
    figures.close()
