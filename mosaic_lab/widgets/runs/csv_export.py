"""The complete data behind a chart as CSV: run, seed, step, timestamp, name, value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mosaic_lab.table_files import csv_text, write_csv
from mosaic_lab.widgets.runs.run_view import RunView

MOST_BYTES = 8 << 20
"""Sent to the page at most; more is written beside the data."""
FILE_NAME = "metrics.csv"


def complete_csv(views: Sequence[RunView], names: Sequence[str], limit: int = MOST_BYTES) -> str | list[Path]:
    """Return all values logged of the metrics as text, or above ``limit`` bytes the files written.

    Raises OSError when a file cannot be read or written.
    """
    texts: list[str] = []
    size = 0
    for view in views:
        texts.append(csv_text(_table(view, names), header=not texts))
        size += len(texts[-1])
        if size > limit:
            return [_write(view, names) for view in views]
    return "".join(texts)


def _write(view: RunView, names: Sequence[str]) -> Path:
    return write_csv(_table(view, names), view.run.path / FILE_NAME)


def _table(view: RunView, names: Sequence[str]) -> pd.DataFrame:
    frame = view.run.metrics()
    frame = frame[frame["name"].isin(names)]
    frame.insert(0, "run", view.run.id)
    frame.insert(1, "seed", view.run.seed)
    return frame
