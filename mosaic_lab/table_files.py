"""DataFrames as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.errors import MosaicError

if TYPE_CHECKING:
    import pandas as pd


def write_csv(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table, without its index, as a CSV file, and return its path."""
    table.to_csv(path, index=False)
    return Path(path)


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
