"""Runs, comparisons and evaluations in a notebook: live panels, and the static forms that stay.

`register` makes a notebook display runs, comparisons and evaluations by itself when they are a cell's last
value. The widget libraries are imported when something is first shown.

The interval over runs: every run's values are averaged over at most 200 stretches of the run and smoothed (by
the panel's slider, 0.60 at first), and interpolated linearly on 200 common places of the x axis. The mean and
its band span the places that every run with data has reached: live they grow with the slowest run, at the end
they stop where the first run does, so that no part of the line is the result of fewer runs than another. At
each place the band is the 95% interval of the mean that evaluations have too: a percentile bootstrap over the
runs (`mosaic_lab.evaluation.learning_curve`), so it stays within the values that were observed. Of two to
four runs each is drawn thinly beside the mean, in place of a band.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.validation import checked
from mosaic_lab.widgets.comparison import show_comparison
from mosaic_lab.widgets.evaluation import show_plot
from mosaic_lab.widgets.notebook_display import NotebookDisplay
from mosaic_lab.widgets.page.shell import notebook_shell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall

__all__ = ["frame_wall", "register", "show", "show_comparison", "show_plot"]

DISPLAY = NotebookDisplay()


@checked
def show(runs: Run | Sequence[Run], *, metric: str | None = None, mean: bool = False) -> None:
    """Show runs in one live panel, in this cell's output.

    One run gets a chart with a line for each chosen metric; several are drawn over each other, a colour a
    run, for one metric. ``metric`` is what the chart starts with (default: the return). ``mean=True`` starts
    with the mean over the runs of each configuration with its 95% interval (see the module's text for how it
    is computed); the panel can switch. An evaluation and a sweep have panels of their own. Raises
    ConfigurationError (a ValueError) for no runs, and what is not a run.
    """
    from mosaic_lab.widgets.runs import show_own_panel, show_runs

    alone = isinstance(runs, Run)
    if isinstance(runs, Run) and kind_of(runs).panel:
        show_own_panel(runs)
        return
    several = [runs] if isinstance(runs, Run) else list(dict.fromkeys(runs))
    if not several:
        raise ConfigurationError("there are no runs to show")
    if not all(isinstance(run, Run) for run in several):
        raise ConfigurationError(
            f"shown are runs and groups of them, such as lab.run(id), lab.group(name) or lab.runs, "
            f"not {runs!r:.100}"
        )
    show_runs(several, alone=alone, metric=metric, interval=mean)


@checked
def frame_wall(
    runs: Run | Iterable[Run | Iterable[Run]], fps: float = 30.0, columns: int | None = None
) -> FrameWall:
    """Watch runs side by side, live, in this cell's output; ``runs`` may hold groups of them.

    The arguments, and what is raised for wrong ones, are those of `FrameWall`. For the same arguments this is
    the same wall, until it is closed. Raises MosaicError outside a notebook.
    """
    return DISPLAY.frames(runs, fps, columns)


def register() -> None:
    """In a notebook's kernel, display runs, groups and what else there is by itself; elsewhere do nothing.

    A second time does nothing.
    """
    shell = notebook_shell()
    if shell is None:
        return
    from mosaic_lab.widgets.frames import register_target
    from mosaic_lab.widgets.keyword_completion import register_completion

    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type(Run, _display)
    formatter.for_type(RunGroup, _display)
    # By their names: a notebook that compares nothing does not import what compares.
    formatter.for_type_by_name("mosaic_lab.arenas.comparison", "Comparison", show_comparison)
    formatter.for_type_by_name("mosaic_lab.evaluation.reports.plot", "Plot", show_plot)
    register_target()
    register_completion(shell)


def _display(runs: Run | RunGroup) -> None:
    """Show a cell's last value; of runs that it has waited for, a line where a panel shows them already."""
    from mosaic_lab.widgets.page.shown_panels import report_ended

    if not report_ended(runs):
        show(runs)
