"""The table of an evaluation: a row for each operator, every number as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mosaic_lab.chart_style import color
from mosaic_lab.number_format import DASH, milliseconds, money, number

if TYPE_CHECKING:
    import pandas as pd

_ESTIMATES = {
    "mean": "Mean return",
    "iqm": "IQM",
    "median": "Median",
    "length": "Mean length",
    "success": "Success",
    "input_tokens": "Tokens in",
    "output_tokens": "Tokens out",
    "exchanges": "Calls",
    "cost_usd": "Cost",
    "exchange_ms_p50": "Latency p50",
    "exchange_ms_p95": "Latency p95",
    "parse_faults": "Parse failures",
}
_SHARES = ("success",)
_LATENCIES = ("exchange_ms_p50", "exchange_ms_p95")


def operators_table(summary: pd.DataFrame, totals: Mapping[str, int]) -> dict[str, Any]:
    """Return the contents of a `Table`. ``totals``: the number of episodes of each operator."""
    shown = [name for name in _ESTIMATES if name in summary]
    failures = bool(summary["failed"].any())
    numbers = ["Episodes", *(["Failed"] if failures else []), *map(_ESTIMATES.__getitem__, shown)]
    columns = [{"title": title, "numeric": title != "Operator"} for title in ("Operator", *numbers)]
    rows = []
    for index, (label, values) in enumerate(summary.to_dict("index").items()):
        cells = [f"{values['episodes'] + values['failed']:,} of {totals[str(label)]:,}"]
        cells += [f"{values['failed']:,}"] if failures else []
        cells += [_cell(values, name) for name in shown]
        rows.append([{"text": str(label), "color": color(index)}, *({"text": text} for text in cells)])
    return {"columns": columns, "rows": rows}


def budget_text(budget: Mapping[str, float | None] | None, spent: Mapping[str, Any]) -> str:
    """Return the spent part of a budget: ``$0.41 of $2.00``, ``12k of 50k tokens``; empty without a
    budget."""
    budget = budget or {}
    parts = []
    if (usd := budget.get("usd")) is not None:
        parts.append(f"{money(spent['usd'])} of {money(usd)}")
    if (tokens := budget.get("tokens")) is not None:
        parts.append(f"{number(spent['tokens'])} of {number(tokens)} tokens")
    return ", ".join(parts)


def _cell(values: Mapping[Any, Any], name: str) -> str:
    if name == "cost_usd":  # NaN is an unknown cost if there were calls; otherwise there is no cost
        return money(values[name]) if values["exchanges"] > 0 else DASH
    return milliseconds(values[name]) if name in _LATENCIES else _estimate(values, name)


def _estimate(values: Mapping[Any, Any], name: str) -> str:
    """Return an estimate as ``21.3 [19.8, 23]``, or without an interval if there is none."""
    share = name in _SHARES
    value, *bounds = (_text(values.get(name + suffix), share) for suffix in ("", "_low", "_high"))
    return f"{value} [{bounds[0]}, {bounds[1]}]" if bounds[0] != _text(None, share) else value


def _text(value: float | None, share: bool) -> str:
    return f"{value:.0%}" if share and value is not None and value == value else number(value)
