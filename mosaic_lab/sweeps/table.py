"""The trials of a sweep as a DataFrame, with an interval for each value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mosaic_lab.evaluation.statistics.averages import summary
from mosaic_lab.sweeps.segments import lineage
from mosaic_lab.sweeps.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

TRIAL_COLUMNS = ("state", "value", "low", "high", "seconds", "reason", "runs")
PARAMETERS = "parameters."
"""Prefix of the parameters' columns."""

AT_ONCE = 500
"""Number of trials whose intervals are computed together, from the same resamples."""


class Intervals:
    """The 95% bootstrap intervals of trials' values over their seeds, each computed once."""

    def __init__(self, aggregate: str) -> None:
        self._aggregate = aggregate
        self._computed: dict[tuple[float, ...], tuple[float, float]] = {}

    def bounds(self, trials: Iterable[Trial]) -> list[tuple[float, float]]:
        """Return the low and the high end for each trial; NaN with a single seed."""
        keys = [tuple(trial.values.values()) for trial in trials]
        new = [key for key in dict.fromkeys(keys) if len(key) > 1 and key not in self._computed]
        for start in range(0, len(new), AT_ONCE):
            self._compute(new[start : start + AT_ONCE])
        return [self._computed.get(key, (np.nan, np.nan)) for key in keys]

    def _compute(self, keys: Sequence[tuple[float, ...]]) -> None:
        summaries = summary({str(i): list(key) for i, key in enumerate(keys)}, rng=np.random.default_rng(0))
        for key, statistics in zip(keys, summaries.values(), strict=True):
            estimate = statistics.iqm if self._aggregate == "iqm" else statistics.mean
            self._computed[key] = estimate.low, estimate.high


def trials_frame(trials: Sequence[Trial], aggregate: str) -> pd.DataFrame:
    """Return one row per trial, indexed by number: state, value with its interval, seconds, reason, run ids,
    and a column ``parameters.<name>`` per parameter. Absent values are missing."""
    import pandas as pd

    rows = []
    for trial, (low, high) in zip(trials, Intervals(aggregate).bounds(trials), strict=True):
        rows.append(
            {
                "trial": trial.number,
                "state": str(trial.state),
                "value": np.nan if trial.value is None else trial.value,
                "low": low,
                "high": high,
                "seconds": np.nan if trial.seconds is None else trial.seconds,
                "reason": trial.reason,
                "runs": trial.run_ids,
                **{f"{PARAMETERS}{name}": value for name, value in trial.parameters.items()},
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["trial", *TRIAL_COLUMNS]).set_index("trial")


def for_files(trials: pd.DataFrame) -> pd.DataFrame:
    """Convert a `trials_frame` for files: trial numbers as a column, run ids joined to one string, and
    parameters with mixed types as strings."""
    table = trials.reset_index()
    table["runs"] = [" ".join(ids) for ids in table["runs"]]
    for name in (name for name in map(str, table) if name.startswith(PARAMETERS)):
        if table[name].dropna().map(type).nunique() > 1:
            table[name] = table[name].map(str, na_action="ignore")
    return table


def schedule_frame(trials: Sequence[Trial], trial: Trial) -> pd.DataFrame:
    """Return one row per segment that led to a trial's newest checkpoint, in order."""
    import pandas as pd

    rows = [
        {
            "segment": segment.place,
            "member": number,
            "stop": segment.stop,
            "value": np.nan if segment.value is None else segment.value,
            "runs": list(segment.runs.values()),
            **{f"{PARAMETERS}{name}": value for name, value in segment.parameters.items()},
        }
        for number, segment in lineage(trials, trial)
    ]
    columns = ["segment", "member", "stop", "value", "runs"]
    return pd.DataFrame(rows, columns=None if rows else columns).set_index("segment")
