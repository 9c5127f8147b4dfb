"""The trials of a sweep as a DataFrame, with an interval for the value of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mosaic_lab.evaluation.statistics.averages import summary
from mosaic_lab.sweeps.segments import lineage
from mosaic_lab.sweeps.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

ABOUT = ("state", "value", "low", "high", "seconds", "reason", "runs")


def interval(trial: Trial, aggregate: str) -> tuple[float, float]:
    """Return the 95% bootstrap interval of a trial's value over its seeds; NaN with one seed only."""
    if len(trial.values) < 2:
        return np.nan, np.nan
    found = summary({"": list(trial.values.values())}, rng=np.random.default_rng(0))[""]
    estimate = found.iqm if aggregate == "iqm" else found.mean
    return estimate.low, estimate.high


def trials_frame(trials: Iterable[Trial], aggregate: str) -> pd.DataFrame:
    """Return a row a trial, indexed by its number: state, value with its interval, seconds, reason, the ids
    of its runs, and a column ``parameters.<name>`` each. What a trial does not have is missing."""
    import pandas as pd

    rows = []
    for trial in trials:
        low, high = interval(trial, aggregate)
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
                **{f"parameters.{name}": value for name, value in trial.parameters.items()},
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["trial", *ABOUT]).set_index("trial")


def schedule_frame(trials: Sequence[Trial], trial: Trial) -> pd.DataFrame:
    """Return a row for each segment that a trial's newest checkpoint comes from, in order."""
    import pandas as pd

    rows = [
        {
            "segment": segment.place,
            "member": number,
            "stop": segment.stop,
            "value": np.nan if segment.value is None else segment.value,
            "runs": list(segment.runs.values()),
            **{f"parameters.{name}": value for name, value in segment.parameters.items()},
        }
        for number, segment in lineage(trials, trial)
    ]
    about = ["segment", "member", "stop", "value", "runs"]
    return pd.DataFrame(rows, columns=None if rows else about).set_index("segment")
