"""Tables of estimates as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.number_format import DASH

if TYPE_CHECKING:
    import pandas as pd

_BEST: dict[str, Callable[[pd.Series], Any]] = {
    **dict.fromkeys(
        ("mean", "median", "iqm", "task_median", "success", "rating"), lambda values: values.max()
    ),
    "optimality_gap": lambda values: values.min(),
}
"""The best value of a column."""
_TITLES = {"iqm": "IQM", "task_median": "Median of environments"}
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
_DIGITS = 3  # of a column's largest value


def latex_table(table: pd.DataFrame, estimates: Sequence[str], caption: str, label: str | None) -> str:
    """Return the columns ``estimates`` as a LaTeX table with ``\\toprule`` and so on (package booktabs).

    Each value is followed by its interval in brackets, with the same number of decimals in a column. The best
    of several is bold.
    """
    rows = [[escaped(str(name)) for name in table.index]]
    for name in estimates:
        rows.append(_column(table, name))
    heads = [escaped(str(table.index.name or "")).capitalize(), *map(_title, estimates)]
    body = [" & ".join(cells) + r" \\" for cells in zip(*rows, strict=True)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
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


def escaped(text: str) -> str:
    """Return text with the characters that are special in LaTeX escaped."""
    return _SPECIAL.sub(lambda match: _ESCAPED[match[0]], text)


def _title(name: str) -> str:
    return _TITLES.get(name, escaped(name.replace("_", " ")).capitalize())


def _column(table: pd.DataFrame, name: str) -> list[str]:
    values = table[name]
    largest = values.abs().max()
    whole = math.floor(math.log10(largest)) + 1 if largest > 0 else 1
    decimals = min(max(0, _DIGITS - whole), _DIGITS)
    best = _BEST[name](values) if name in _BEST and len(values) > 1 else math.nan
    cells = []
    for value, low, high in table[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False):
        text = _number(value, decimals)
        text = rf"\textbf{{{text}}}" if value == best else text
        has_bounds = math.isfinite(low) and math.isfinite(high)
        cells.append(f"{text} [{_number(low, decimals)}, {_number(high, decimals)}]" if has_bounds else text)
    return cells


def _number(value: float, decimals: int) -> str:
    return escaped(DASH if math.isnan(value) else f"{value:.{decimals}f}".replace("-", "−"))
