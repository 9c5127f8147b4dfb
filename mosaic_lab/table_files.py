"""DataFrames as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.errors import MosaicError

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table, without its index, as a CSV file, and return its path. See `as_cell`."""
    table.map(as_cell).rename(columns=as_cell).to_csv(path, index=False)
    return Path(path)


def as_cell(value: Any) -> Any:
    """Return a value for a CSV file: text that a spreadsheet would calculate gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def write_parquet(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table, without its index, as a Parquet file, and return its path. Raises MosaicError without
    pyarrow: the extra ``parquet``."""
    try:
        table.to_parquet(path, index=False)
    except ImportError:
        raise MosaicError(
            "a Parquet file is written by pyarrow, which is not installed in this environment: "
            "`pip install mosaic-lab[parquet]`, or use to_csv(...)"
        ) from None
    return Path(path)
