"""DataFrames as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.errors import MosaicError

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table, without its index, as a CSV file and return its path. See `as_cell`."""
    Path(path).write_text(csv_text(table), encoding="utf-8", newline="")
    return Path(path)


def csv_text(table: pd.DataFrame, *, header: bool = True, na_rep: str = "") -> str:
    """Return a table, without its index, as CSV text. See `as_cell`."""
    guarded = table.rename(columns=as_cell)
    for name, column in guarded.select_dtypes(exclude="number").items():
        guarded[name] = column.map(as_cell)
    return str(guarded.to_csv(index=False, header=header, na_rep=na_rep))


def as_cell(value: Any) -> Any:
    """Return a value for a CSV file. Text that a spreadsheet would evaluate gets a leading apostrophe, except
    numbers such as "-1"."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_parquet(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table, without its index, as a Parquet file and return its path. Raises MosaicError without
    pyarrow (the extra ``parquet``)."""
    try:
        table.to_parquet(path, index=False)
    except ImportError:
        raise MosaicError(
            "a Parquet file is written by pyarrow, which is not installed in this environment: "
            "`pip install mosaic-lab[parquet]`, or use to_csv(...)"
        ) from None
    return Path(path)
