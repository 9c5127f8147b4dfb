"""Costs of language models in an evaluation's episodes, and how well their answers could be read.

Tables without language models have no such columns. An unknown number is NaN, never 0.
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
    """Whether a language model has played in one of these episodes."""
    return any(_models(record) for record in records)


def cost_of(record: Record) -> float:
    """Return what an episode has cost in US dollars, NaN where that is not known or no model has played."""
    models = _models(record)
    return total(models, "cost_usd") if models and record["status"] == "ok" else math.nan


def cost_columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return sums over the calls of language models in these episodes, and percentiles of their latencies.

    All are unknown where an episode failed, since nothing was counted of it then. Without a language model
    the counts are 0, and cost and latencies NaN.
    """
    if any(record["status"] != "ok" for record in records):
        return dict.fromkeys(COLUMNS)
    models = [one for record in records for one in _models(record)]
    latencies = [float(number) for one in models for number in one["exchange_ms"]]
    p50, p95 = np.percentile(latencies, [50, 95]) if latencies else (math.nan, math.nan)
    return {
        **{name: sum(int(one[name]) for one in models) for name in _COUNTS},
        "cost_usd": total(models, "cost_usd") if models else math.nan,
        "exchange_ms_p50": float(p50),
        "exchange_ms_p95": float(p95),
    }


def total(operators: Iterable[Mapping[str, Any]], name: str) -> float:
    """Return the sum of one of the operators' numbers, NaN where one of them is not known."""
    return sum(math.nan if one[name] is None else one[name] for one in operators)


def _models(record: Record) -> list[Mapping[str, Any]]:
    """The counts of those operators of an episode that have called a language model."""
    return [one for one in (record.get("operators") or {}).values() if "exchanges" in one]
