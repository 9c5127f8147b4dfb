"""Costs of language models in an evaluation's episodes, and statistics of parsing their answers.

Tables without language models omit these columns. Unknown numbers are NaN, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mosaic_lab.evaluation.episode_log import Record

COLUMNS = {
    "exchanges": "Int64",
    "cost_usd": "float64",
    "exchange_ms_p50": "float64",
    "exchange_ms_p95": "float64",
    "parse_faults": "Int64",
    "repairs": "Int64",
    "defaults": "Int64",
}
_COUNTS = ("exchanges", "parse_faults", "repairs", "defaults")


def any_models(records: Iterable[Record]) -> bool:
    """Whether a language model has played in any of these episodes."""
    return any(_models(record) for record in records)


def cost_of(record: Record) -> float:
    """Return an episode's cost in US dollars; NaN if unknown or without a model."""
    models = _models(record)
    return total(models, "cost_usd") if models and record["status"] == "ok" else math.nan


def cost_columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return totals over the language model calls in these episodes, and latency percentiles.

    All values are unknown if an episode failed, because failed episodes have no counts. Without a language
    model, counts are 0, and cost and latencies NaN.
    """
    if any(record["status"] != "ok" for record in records):
        return dict.fromkeys(COLUMNS)
    models = [operator for record in records for operator in _models(record)]
    latencies = [float(number) for operator in models for number in operator["exchange_ms"]]
    p50, p95 = np.percentile(latencies, [50, 95]) if latencies else (math.nan, math.nan)
    return {
        **{name: sum(int(operator[name]) for operator in models) for name in _COUNTS},
        "cost_usd": total(models, "cost_usd") if models else math.nan,
        "exchange_ms_p50": float(p50),
        "exchange_ms_p95": float(p95),
    }


def total(operators: Iterable[Mapping[str, Any]], name: str) -> float:
    """Return the sum of one of the operators' numbers; NaN if any is unknown."""
    return sum(math.nan if operator[name] is None else operator[name] for operator in operators)


def _models(record: Record) -> list[Mapping[str, Any]]:
    """Return the counts of an episode's operators that have called a language model."""
    return [operator for operator in (record.get("operators") or {}).values() if "exchanges" in operator]
