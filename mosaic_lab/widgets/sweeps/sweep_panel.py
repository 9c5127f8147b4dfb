"""The live panel of a sweep: its progress, its trials, and plots of the hyperparameters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.number_format import DASH, duration, number, setting_text
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.plots import sweep_plots
from mosaic_lab.sweeps.sweep import Sweep
from mosaic_lab.sweeps.table import Intervals
from mosaic_lab.sweeps.trials import Trial, TrialState
from mosaic_lab.widgets.evaluation.result_panel import ResultPanel, ResultReader, next_due
from mosaic_lab.widgets.page.saved_form import Caption, table_html
from mosaic_lab.widgets.runs.run_view import Notice, warning_notice

SAVED_ROWS = 20
"""Number of trials in the static form: the best ones."""
MIN_INTERVAL, MAX_INTERVAL = 1.0, 10.0
"""Limits on the seconds between readings of the trials, and between their plots. The first plots are slow
because of imports; the upper limit keeps that from delaying the next ones."""


@dataclass(frozen=True)
class SweepSnapshot:
    """The content of a panel: the trials, their table and, computed less often, their plots."""

    trials: tuple[Trial, ...]
    done: int
    best: Trial | None
    ranked: tuple[Trial, ...]
    table: dict[str, Any]
    plots: tuple[Plot, ...]


class SweepReader(ResultReader[SweepSnapshot]):
    """Reads ``sweep``, a handle that nothing else uses."""

    def __init__(self, sweep: Sweep, news: Callable[[], None]) -> None:
        super().__init__(f"The trials of sweep {sweep.id}", news)
        self._sweep = sweep
        self._plot_at = 0.0
        self._plotted: dict[str, Any] = {}
        """The table for which the plots were computed."""
        self._intervals = Intervals(sweep.plan.request.aggregate)

    def read_due(self) -> None:
        self.read(plots=time.monotonic() >= self._plot_at)

    def read(self, *, plots: bool = True) -> SweepSnapshot:
        """Read the trials now, and compute their ``plots``."""
        with self._lock:
            began, sweep = time.monotonic(), self._sweep
            trials = tuple(sweep.records)
            ranked = tuple(sweep.ranked())
            self.latest = SweepSnapshot(
                trials=trials,
                done=sweep.done,
                best=ranked[0] if ranked else None,
                ranked=ranked,
                table=trials_table(sweep.plan, trials, self._intervals),
                plots=() if self.latest is None else self.latest.plots,
            )
            self._read_at = next_due(began, MIN_INTERVAL, MAX_INTERVAL)
            if plots and self._plotted != self.latest.table:
                began, self._plotted = time.monotonic(), self.latest.table
                new_plots = tuple(sweep_plots(sweep.plan, trials, sweep.importance()))
                self.latest = replace(self.latest, plots=new_plots)
                self._plot_at = next_due(began, MIN_INTERVAL, MAX_INTERVAL)
            return self.latest


class SweepPanel(ResultPanel[SweepSnapshot]):
    """The live panel of the sweep in ``folder``."""

    def __init__(self, folder: RunFolder) -> None:
        self._sweep = sweep = Sweep(folder)  # its own: a handle serves one reader at a time
        config = sweep.config
        subject = " ".join(str(config[name]) for name in ("algorithm", "env_id") if name in config)
        self.title = f"Sweep · {subject}"
        super().__init__(sweep, SweepReader(sweep, self.notify))
        self.arrange(self.plots.box, self.table)

    def static_caption(self) -> Caption:
        """Return the progress, the best trials and the notices, with the reason of a failure."""
        snapshot = self.snapshot()
        text = f"{self._progress(snapshot)}, {self.view.status.state}: {states_caption(snapshot.trials)}"
        rows = [snapshot.table["rows"][trial.number] for trial in snapshot.ranked[:SAVED_ROWS]]
        table = table_html(snapshot.table, rows, 2)
        return Caption(text, table + self.saved_notices())

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "store": str(self._sweep.path.parent), "runs": [self._sweep.id]}

    def facts(self, snapshot: SweepSnapshot) -> list[list[str]]:
        counts = {} if self.finished else Counter(str(trial.state) for trial in snapshot.trials)
        facts = [self._progress(snapshot).rsplit(" ", 1)]
        facts += [[f"{counts[name]:,}", name] for name in ("running", "queued") if name in counts]
        return facts + ([[number(snapshot.best.value), "best"]] if snapshot.best is not None else [])

    def progress(self, snapshot: SweepSnapshot) -> float | None:
        return min(1.0, snapshot.done / self._sweep.plan.parts[0])

    def _progress(self, snapshot: SweepSnapshot) -> str:
        total, unit = self._sweep.plan.parts
        return f"{snapshot.done:,} of {total:,} {unit}"

    def notices(self) -> list[Notice]:
        notices = super().notices()
        trials = self.reader.latest.trials if self.reader.latest is not None else ()
        failed = [trial for trial in trials if trial.state is TrialState.FAILED]
        if failed:
            count = "1 trial" if len(failed) == 1 else f"{len(failed):,} trials"
            notices.append(
                warning_notice(f"{count} failed, the last, {failed[-1].number}: {failed[-1].reason}")
            )
        return notices


def trials_table(plan: SweepPlan, trials: Sequence[Trial], intervals: Intervals) -> dict[str, Any]:
    """Return the contents of a `Table`, a row per trial, in order.

    ``intervals`` caches the intervals of earlier calls.
    """
    names = dict.fromkeys([*plan.space.parameters, *(name for trial in trials for name in trial.parameters)])
    numeric = [all(_is_number(trial.parameters.get(name, 0)) for trial in trials) for name in names]
    columns = [
        {"title": "Trial", "numeric": True},
        {"title": "State", "numeric": False},
        {"title": plan.metric, "numeric": True},
        *({"title": name, "numeric": kind} for name, kind in zip(names, numeric, strict=True)),
        {"title": "Steps", "numeric": True},
        {"title": "Time", "numeric": True},
    ]
    with_intervals = zip(trials, intervals.bounds(trials), strict=True)
    rows = [_row(plan, trial, interval, list(names)) for trial, interval in with_intervals]
    return {"columns": columns, "rows": rows, "caption": states_caption(trials), "sortable": True}


def states_caption(trials: Sequence[Trial]) -> str:
    """Return the number of trials in each state: "12 completed, 5 pruned"."""
    counts = Counter(str(trial.state) for trial in trials)
    return ", ".join(f"{count:,} {state}" for state, count in counts.most_common())


def _row(
    plan: SweepPlan, trial: Trial, interval: tuple[float, float], names: Sequence[str]
) -> list[dict[str, Any]]:
    step = plan.trained(trial)
    return [
        _cell(str(trial.number), trial.number, ", ".join(trial.run_ids)),
        _cell(str(trial.state), str(trial.state), trial.reason),
        _cell(_value(trial, interval), trial.value),
        *(_parameter(trial.parameters.get(name)) for name in names),
        _cell(number(step), step),
        _cell(duration(trial.seconds), trial.seconds),
    ]


def _value(trial: Trial, interval: tuple[float, float]) -> str:
    low, high = interval
    text = number(trial.value)
    return f"{text} [{number(low)}, {number(high)}]" if np.isfinite([low, high]).all() else text


def _parameter(value: Any) -> dict[str, Any]:
    if value is None:
        return _cell(DASH, None)
    return _cell(setting_text(value), float(value) if _is_number(value) else str(value))


def _cell(text: str, key: Any, hint: str = "") -> dict[str, Any]:
    return {"text": text, "key": key, "hint": hint}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
