"""The table of an evaluation's episodes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.arenas.tables import agent_returns, table_of
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.reports.model_costs import COLUMNS, any_models, cost_columns, total
from mosaic_lab.table_files import as_cell

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {
    "operator": "object",
    "category": "object",
    "seed": "int64",
    "episode_index": "int64",
    "episode_seed": "int64",
    "return": "float64",
    "length": "Int64",
    "terminated": "boolean",
    "truncated": "boolean",
    "forfeit": "object",
    "success": "boolean",
    "illegal": "int64",
    "late": "int64",
    "errors": "int64",
    "seconds": "float64",
    "latency_ms": "float64",
    "input_tokens": "Int64",
    "output_tokens": "Int64",
    "status": "object",
    "error": "object",
}
TIMING = ("seconds", "latency_ms")
"""Columns that differ between identical evaluations."""
_AS_RECORDED = ("operator", "category", "seed", "episode_seed", "return", "seconds", "status", "error")
_COUNTS = ("illegal", "late", "errors")
_TOKENS = ("input_tokens", "output_tokens")


def results_table(plan: EvaluationPlan, records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per episode, in the given order. Adds `COLUMNS` if language models have played, and
    ``training`` if an algorithm has; returns of single agents are columns at the end.
    """
    records = list(records)
    costs = COLUMNS if any_models(records) else {}
    players: dict[str, dict[str, Any]] = {
        lane: {"operator": label, "training": name}
        for label, lanes in plan.trainings.items()
        for name, lane in lanes.items()
    }
    none = {"training": None} if players else {}
    rows = [
        (cost_columns([record]) if costs else {}) | _row(record) | players.get(record["operator"], none)
        for record in records
    ]
    kinds = {"operator": "object", "training": "object"} | _KINDS if players else _KINDS
    return table_of(rows, {**kinds, **costs})


def differing_row(path: Path, table: pd.DataFrame) -> int | None:
    """Return the first row of a CSV file that differs from ``table``, 0 for the header, None if none does.
    Numbers are compared by value, and text may be escaped as by `as_cell`. Raises ValueError and csv.Error
    for other files.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = zip_longest(csv.reader(file), csv.reader(io.StringIO(table.to_csv(index=False), newline="")))
        return next((number for number, (one, other) in enumerate(rows) if not _same(one, other)), None)


def _same(one: Sequence[str] | None, other: Sequence[str] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(a in (b, as_cell(b)) or _number(a) == _number(b) for a, b in zip(one, other, strict=True))


def _number(text: str) -> float:
    """Return the number, or NaN, which equals no value, for other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _row(record: Record) -> dict[str, Any]:
    played = record["status"] == "ok"
    operators = (record.get("operators") or {}).values()
    counts = {name: sum(int(operator[name]) for operator in operators) for name in _COUNTS}
    tokens = {name: total(operators, name) for name in _TOKENS}
    calls = sum(operator["calls"] for operator in operators)
    spent = sum(operator["calls"] * operator["latency_ms"] for operator in operators)
    progression = record.get("progression")  # share of the task, if the environment reports it
    return {
        **{name: record[name] for name in _AS_RECORDED},
        "episode_index": record["episode"],
        "length": record["steps"] if played else None,
        "terminated": record["terminated"] if played else None,
        "truncated": record["truncated"] if played else None,
        "forfeit": record.get("forfeit"),
        "success": record.get("success"),
        **counts,
        **tokens,
        "latency_ms": spent / calls if calls else None,
        **({} if progression is None else {"progression": float(progression)}),
        **agent_returns(record["returns"]),
    }
