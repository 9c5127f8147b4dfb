"""The table of a sweep's trials: the text and the sort key of every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mosaic_lab.number_format import DASH, duration, number, setting_text
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.table import Intervals
from mosaic_lab.sweeps.trials import Trial


def trials_table(plan: SweepPlan, trials: Sequence[Trial], intervals: Intervals) -> dict[str, Any]:
    """Return the contents of a `Table`, a row per trial, in order.

    ``intervals`` keeps intervals of earlier calls.
    """
    names = dict.fromkeys([*plan.space.parameters, *(name for trial in trials for name in trial.parameters)])
    numeric = [all(_is_number(trial.parameters.get(name, 0)) for trial in trials) for name in names]
    columns = [
        {"title": "Trial", "numeric": True},
        {"title": "State", "numeric": False},
        {"title": plan.request.metric, "numeric": True},
        *({"title": name, "numeric": kind} for name, kind in zip(names, numeric, strict=True)),
        {"title": "Steps", "numeric": True},
        {"title": "Time", "numeric": True},
    ]
    with_intervals = zip(trials, intervals.of(trials), strict=True)
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
