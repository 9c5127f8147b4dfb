"""Compact tables of estimates, also as LaTeX. Importing this imports pandas: do so where a table is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics.averages import AVERAGES
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.number_format import DASH, full_number

BOUNDS = ("_low", "_high")
_HIGHEST = ("mean", "median", "iqm", "task_median", "success", "rating")
_BEST: dict[str, Callable[[pd.Series], Any]] = {
    **dict.fromkeys(_HIGHEST, pd.Series.max),
    "optimality_gap": pd.Series.min,
}
"""The function that returns a column's best value."""
_SPECIAL = re.compile(r"[&%$#_{}~^\\]|[×−–]")
_ESCAPED = {
    **{character: rf"\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
}
_DIGITS = 3  # significant digits of a column's smallest value, and maximum number of decimals


class Estimates(pd.DataFrame):
    """A DataFrame in which ``x``, ``x_low`` and ``x_high`` are an estimate and its interval.

    These three are displayed as one column, ``21.3 [19.8, 23]``, but remain separate columns of the data.
    ``attrs["note"]``, if any, is displayed below. A slice of the table is an ordinary DataFrame.
    """

    def compact(self) -> pd.DataFrame:
        """Return the displayed table: strings, one column per estimate."""
        bounds = {name + end for name in self.columns for end in BOUNDS}
        names = [name for name in self.columns if name not in bounds]
        rows = [{name: _text(row, name) for name in names} for row in self.to_dict("records")]
        return pd.DataFrame(rows, self.index, names)

    def to_latex(  # type: ignore[override]
        self, caption: str | None = None, label: str | None = None, columns: Sequence[str] | None = None
    ) -> str:
        """Return the estimates as a LaTeX table for print, which needs the package booktabs.

        Each value has its interval in brackets, and the best in a column is bold. The default ``caption``
        says what the intervals are over, ``label`` is for references, ``columns`` are the estimates to print.
        Raises ConfigurationError for a column without an interval.
        """
        estimates = [name for name in self.columns if all(name + end in self.columns for end in BOUNDS)]
        if unknown := [name for name in columns or () if name not in estimates]:
            raise ConfigurationError(
                f"columns: {', '.join(map(repr, unknown))}: the estimates are {', '.join(estimates)}"
            )
        text = self._caption() if caption is None else caption
        return latex_table(self, estimates if columns is None else columns, text, label)

    def _caption(self) -> str:
        """Return a sentence with the environment and what the intervals are over."""
        environment = f" in {self.attrs['environment']}" if "environment" in self.attrs else ""
        return f"Results{environment} with {self.attrs.get('over', '95% bootstrap intervals')}."

    def _repr_html_(self) -> str:
        note = f"<p>{escape(self.attrs['note'])}</p>" if "note" in self.attrs else ""
        return f'<div style="overflow-x:auto">{self.compact().to_html()}{note}</div>'

    def __repr__(self) -> str:
        note = f"\n{self.attrs['note']}" if "note" in self.attrs else ""
        return self.compact().to_string() + note


def estimates_table(rows: Sequence[Mapping[str, Any]], index: str, **attrs: Any) -> Estimates:
    """Return the rows as a table with three columns per `Estimate`; ``index`` is the column of row names."""
    columns = [{key: value for pair in row.items() for key, value in _columns(*pair)} for row in rows]
    table = Estimates(pd.DataFrame(columns).set_index(index))
    table.attrs.update(attrs)
    return table


def _columns(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, Estimate):
        return [(name, value)]
    return zip((name, *(name + end for end in BOUNDS)), (value.value, value.low, value.high), strict=True)


def _text(row: Mapping[Any, Any], name: str) -> str:
    value, *bounds = (row[column] for end in ("", *BOUNDS) if (column := name + end) in row)
    has_bounds = len(bounds) == len(BOUNDS) and not any(map(pd.isna, bounds))
    text = full_number(value)
    return f"{text} [{', '.join(map(full_number, bounds))}]" if has_bounds else text


def latex_table(table: pd.DataFrame, estimates: Sequence[str], caption: str, label: str | None) -> str:
    """Return the columns ``estimates`` as a LaTeX table with ``\\toprule`` and so on (package booktabs).

    Each value is followed by its interval in brackets, with the same number of decimals throughout a column.
    The best of several is bold.
    """
    rows = [[_latex(str(name)) for name in table.index], *(_column(table, name) for name in estimates)]
    heads = [_latex(str(table.index.name or "")).capitalize(), *map(_title, estimates)]
    body = [" & ".join(cells) + r" \\" for cells in zip(*rows, strict=True)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(caption)}}}",
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{l{'r' * len(estimates)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    """Return text with the characters that are special in LaTeX escaped."""
    return _SPECIAL.sub(lambda match: _ESCAPED[match[0]], text)


def _title(name: str) -> str:
    return AVERAGES.get(name, _latex(name.replace("_", " ")).capitalize())


def _column(table: pd.DataFrame, name: str) -> list[str]:
    values = table[name]
    smallest = values[values != 0].abs().min()  # NaN without any
    integer_digits = math.floor(math.log10(smallest)) + 1 if smallest > 0 else 1
    decimals = min(max(0, _DIGITS - integer_digits), _DIGITS)
    best = _BEST[name](values) if name in _BEST and len(values) > 1 else math.nan
    cells = []
    for value, low, high in table[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False):
        text = _number(value, decimals)
        text = rf"\textbf{{{text}}}" if value == best else text
        has_bounds = math.isfinite(low) and math.isfinite(high)
        cells.append(f"{text} [{_number(low, decimals)}, {_number(high, decimals)}]" if has_bounds else text)
    return cells


def _number(value: float, decimals: int) -> str:
    return _latex(DASH if math.isnan(value) else f"{value:.{decimals}f}".replace("-", "−"))
