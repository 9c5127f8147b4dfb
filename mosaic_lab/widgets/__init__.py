"""Live panels of runs, comparisons and evaluations in a notebook, and their static forms in the saved file.

`register` makes a notebook display runs, comparisons and evaluations that are a cell's last value. Widget
libraries are imported when something is first shown.

Intervals over runs: each run's values are averaged over at most 200 segments, smoothed (by the panel's
slider, initially not at all) and interpolated linearly at 200 common points of the x axis. The mean and its
band cover the points that every run with data has reached: while runs are alive, up to the slowest one;
afterwards, up to the shortest, so that no part of the line averages fewer runs than another. The band is the
95% interval of the mean that evaluations use, a percentile bootstrap over runs
(`mosaic_lab.evaluation.learning_curve`), and stays within the observed values. For two to four runs, each is
drawn as a thin line beside the mean instead of a band.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.runs.run_names import AnyRuns, find_runs
from mosaic_lab.validation import checked
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.notebook_display import NotebookDisplay
from mosaic_lab.widgets.page.kernel import ipython_shell, notebook_shell

if TYPE_CHECKING:
    from mosaic_lab.arenas.replays import Replay, Replays
    from mosaic_lab.widgets.frames.wall import FrameWall

__all__ = ["frame_wall", "register", "show"]

DISPLAY = NotebookDisplay()
_SHOWN_BY = {
    ("mosaic_lab.arenas.comparison", "Comparison"): "mosaic_lab.widgets.comparison.comparison_panel",
    ("mosaic_lab.arenas.transcript", "Transcript"): "mosaic_lab.widgets.overview.transcript",
    ("mosaic_lab.evaluation.reports.plot", "Plot"): "mosaic_lab.widgets.evaluation.plot_widgets",
}
"""Displayed types, by module and name, with the module whose ``show`` displays them. Both are imported when
first used."""


@checked
def show(runs: AnyRuns, *, metric: str | None = None, mean: bool = False) -> None:
    """Show runs, or those with these names, in one live panel in this cell's output.

    A single run gets a chart for each selected metric; several runs share a chart of one metric, one colour
    per run. ``metric`` is the initial metric (default: the return). ``mean=True`` initially shows, for each
    configuration, the mean over runs with its 95% interval (computed as described in `mosaic_lab.widgets`);
    the panel can switch. Evaluations and sweeps have their own panels. Raises ConfigurationError (a
    ValueError) for no runs, and for values that are not runs.
    """
    from mosaic_lab.widgets.runs import show_own_panel, show_runs

    several, alone = find_runs(runs), isinstance(runs, Run | str)
    if not several:
        raise ConfigurationError("there are no runs to show")
    if alone and kind_of(several[0]).panel:
        show_own_panel(several[0])
    else:
        show_runs(several, alone=alone, metric=metric, interval=mean)


@checked
def frame_wall(runs: AnyRuns, fps: float = 30.0, columns: int | None = None) -> FrameWall:
    """Show live frames of several runs, or groups of runs, side by side in this cell's output.

    Arguments and errors are the same as for `FrameWall`. The same arguments return the same wall until it is
    closed. Raises MosaicError outside a notebook.
    """
    return DISPLAY.frames(runs, fps, columns)


def register() -> None:
    """Make IPython complete hyperparameters, and a notebook's kernel display runs, groups and other results;
    do nothing elsewhere. Can be called repeatedly."""
    if (shell := ipython_shell()) is None:
        return
    from mosaic_lab.widgets.keyword_completion import register_completion

    register_completion(shell)
    if (shell := notebook_shell()) is None:
        return
    from mosaic_lab.widgets.frames import register_target

    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type(Run, _display)
    formatter.for_type(RunGroup, _display)
    for (module, name), shown_by in _SHOWN_BY.items():
        formatter.for_type_by_name(module, name, partial(_show_with, shown_by))
    for name in ("Replay", "Replays"):
        formatter.for_type_by_name("mosaic_lab.arenas.replays.replay", name, _show_replay)
    register_target()


def _show_with(module: str, value: object) -> None:
    import_module(module).show(value)


def _show_replay(replay: Replay | Replays) -> None:
    from mosaic_lab.widgets.replays.shown_replay import show

    show(replay, followed_panel)


def _display(runs: Run | RunGroup) -> None:
    """Display a cell's last value; for awaited runs already shown in a panel, display one line."""
    from mosaic_lab.widgets.page.panel_outputs import report_ended

    if not report_ended(runs):
        show(runs)
