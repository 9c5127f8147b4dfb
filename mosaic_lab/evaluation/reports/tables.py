"""The tables of an evaluation's episodes, and of the exchanges with language models in its recording.

Without language models, tables omit the columns of their costs. Unknown numbers are NaN, never 0.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mosaic_contract.language.recording import read

from mosaic_lab.arenas.tables import agent_returns, prompt_text, table_of
from mosaic_lab.errors import MosaicError, warn_user
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan
from mosaic_lab.table_files import as_cell

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = {
    "exchanges": "Int64",
    "cost_usd": "float64",
    "exchange_ms_p50": "float64",
    "exchange_ms_p95": "float64",
    "parse_faults": "Int64",
    "repairs": "Int64",
    "defaults": "Int64",
}
_CALL_COUNTS = ("exchanges", "parse_faults", "repairs", "defaults")
_DTYPES = {
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
_AS_RECORDED = ("operator", "category", "seed", "episode_seed", "return", "seconds", "status", "error")
_COUNTS = ("illegal", "late", "errors")
_TOKENS = ("input_tokens", "output_tokens")
_EXCHANGE_DTYPES = {
    "operator": "object",
    "agent": "object",
    "seed": "Int64",
    "episode": "Int64",
    "step": "int64",
    "call": "int64",
    "prompt": "object",
    "answer": "object",
    "parsed": "object",
    "faults": "object",
    "input_tokens": "Int64",
    "output_tokens": "Int64",
    "cost_usd": "float64",
    "latency_ms": "float64",
    "model": "object",
    "recorded": "bool",
    "started": "float64",
}
_MAX_TEXT = 1 << 30  # characters of prompts and answers in a table


def any_models(records: Iterable[Record]) -> bool:
    """Return whether a language model has played in any of these episodes."""
    return any(_models(record) for record in records)


def cost_of(record: Record) -> float:
    """Return an episode's cost in US dollars; NaN if unknown or without a model."""
    models = _models(record)
    return total(models, "cost_usd") if models and record["status"] == "ok" else math.nan


def cost_columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return totals over the calls of language models in these episodes, and percentiles of their latency.

    All values are unknown if an episode failed, because failed episodes have no counts. Without a language
    model, counts are 0, and cost and latencies NaN.
    """
    if any(record["status"] != "ok" for record in records):
        return dict.fromkeys(COLUMNS)
    models = [operator for record in records for operator in _models(record)]
    latencies = [float(number) for operator in models for number in operator["exchange_ms"]]
    p50, p95 = np.percentile(latencies, [50, 95]) if latencies else (math.nan, math.nan)
    return {
        **{name: sum(int(operator[name]) for operator in models) for name in _CALL_COUNTS},
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


def results_table(plan: EvaluationPlan, records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per episode, in the given order, with `COLUMNS` if language models have played, and
    ``training`` if an algorithm has; the last columns are the returns of individual agents."""
    records = list(records)
    costs = COLUMNS if any_models(records) else {}
    players: dict[str, dict[str, Any]] = {
        lane: {"operator": label, "training": name}
        for label, lanes in plan.trainings.items()
        for name, lane in lanes.items()
    }
    absent = {"training": None} if players else {}
    rows = [
        (cost_columns([record]) if costs else {}) | _row(record) | players.get(record["operator"], absent)
        for record in records
    ]
    dtypes = {"operator": "object", "training": "object"} | _DTYPES if players else _DTYPES
    return table_of(rows, {**dtypes, **costs})


def differing_row(path: Path, table: pd.DataFrame) -> int | None:
    """Return the first row of a CSV file that differs from ``table``: 0 for the header, None if none does.

    Numbers are compared by value, and text may be escaped as by `as_cell`. Raises ValueError and csv.Error
    for other files.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = zip_longest(csv.reader(file), csv.reader(io.StringIO(table.to_csv(index=False), newline="")))
        return next((number for number, pair in enumerate(rows) if not _equal(*pair)), None)


def _equal(row: Sequence[str] | None, expected: Sequence[str] | None) -> bool:
    if row is None or expected is None or len(row) != len(expected):
        return False
    return all(a in (b, as_cell(b)) or _number(a) == _number(b) for a, b in zip(row, expected, strict=True))


def _number(text: str) -> float:
    """Return a string as a number, or NaN, which equals nothing, if it is not one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _row(record: Record) -> dict[str, Any]:
    completed = record["status"] == "ok"
    operators = (record.get("operators") or {}).values()
    counts = {name: sum(int(operator[name]) for operator in operators) for name in _COUNTS}
    tokens = {name: total(operators, name) for name in _TOKENS}
    calls = sum(operator["calls"] for operator in operators)
    spent = sum(operator["calls"] * operator["latency_ms"] for operator in operators)
    progression = record.get("progression")  # share of the task, if the environment reports it
    return {
        **{name: record[name] for name in _AS_RECORDED},
        "episode_index": record["episode"],
        "length": record["steps"] if completed else None,
        "terminated": record["terminated"] if completed else None,
        "truncated": record["truncated"] if completed else None,
        "forfeit": record.get("forfeit"),
        "success": record.get("success"),
        **counts,
        **tokens,
        "latency_ms": spent / calls if calls else None,
        **({} if progression is None else {"progression": float(progression)}),
        **agent_returns(record["returns"]),
    }


def exchanges_table(folder: Path, jobs: Iterable[EpisodeJob], label: str | None) -> pd.DataFrame:
    """Return one row per exchange of the operator ``label`` (None: of all); see `Evaluation.exchanges`.
    Raises MosaicError if the text is too large for a table."""
    numbered = {(job.label, job.index): (number, job) for number, job in enumerate(jobs)}
    reading = read(folder)
    rows: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    text = 0
    for entry in reading:
        key = entry["lane"], entry["episode_index"]
        if key not in numbered or label not in (None, entry["lane"]):
            continue
        number, job = numbered[key]
        row = _exchange_row(entry, job)
        text += len(row["prompt"]) + len(row["answer"])
        if text > _MAX_TEXT:
            raise MosaicError(
                f"the exchanges in {folder} have more than {_MAX_TEXT:,} characters: pass the name of an "
                "operator, or read them one by one with mosaic_contract.language.recording.read(folder)"
            )
        rows.append(((number, row["step"], row["agent"], row["call"], row["started"]), row))
    if reading.damaged:
        files = ", ".join(f"{count:,} in {name}" for name, count in reading.damaged_in.items())
        lines = "line" if reading.damaged == 1 else "lines"
        text_of_damage = f"{reading.damaged:,} {lines} of the recording {folder} ({files})"
        warn_user(f"{text_of_damage} cut off or changed: left out", UserWarning)
    return table_of([row for _, row in sorted(rows, key=lambda pair: pair[0])], _EXCHANGE_DTYPES)


def _exchange_row(entry: Mapping[str, Any], job: EpisodeJob) -> dict[str, Any]:
    return {
        **{name: entry[name] for name in _EXCHANGE_DTYPES if name in entry},
        "operator": job.label,
        "seed": job.seed,
        "episode": job.episode,
        "step": entry["step_index"],
        "prompt": prompt_text(entry["prompt"]),
        "faults": ", ".join(entry["faults"]),
    }
