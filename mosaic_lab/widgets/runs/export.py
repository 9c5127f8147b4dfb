"""The complete data behind a chart as CSV: run, seed, step, timestamp, name, value.

What crosses this boundary: members and metric names in; text for the page to save, or files in the runs'
folders when it would be too much for a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mosaic_lab.widgets.runs.run_view import Member

MOST_BYTES = 8 << 20
"""Sent to the page at most; more is written beside the data."""
FILE_NAME = "metrics.csv"
MOST_NAME = 120
"""Characters of a file's name."""


def complete_csv(
    members: Sequence[Member], names: Sequence[str], limit: int = MOST_BYTES
) -> str | list[Path]:
    """All values ever logged of the metrics, as text of at most ``limit`` bytes, or else the files written.

    Raises OSError when a file cannot be read or written.
    """
    texts: list[str] = []
    size = 0
    for member in members:
        texts.append(_table(member, names).to_csv(index=False, header=not texts))
        size += len(texts[-1])
        if size > limit:
            return [_write(member, names) for member in members]
    return "".join(texts)


def file_name(words: Sequence[str], kind: str) -> str:
    """A name for a file of ``kind`` ("csv", "png") that every system takes."""
    name = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in word) for word in words)
    return f"{name[:MOST_NAME]}.{kind}"


def _write(member: Member, names: Sequence[str]) -> Path:
    path = member.run.path / FILE_NAME
    _table(member, names).to_csv(path, index=False)
    return path


def _table(member: Member, names: Sequence[str]) -> pd.DataFrame:
    frame = member.run.metrics()
    frame = frame[frame["name"].isin(names)]
    frame.insert(0, "run", member.run.id)
    frame.insert(1, "seed", member.run.seed)
    return frame
