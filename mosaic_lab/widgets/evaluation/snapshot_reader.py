"""The numbers of an evaluation's panel, read in the background at a rate that keeps the cost low. Counting
episodes is cheap; resampling takes longer the more episodes there are, and is then done less often."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mosaic_lab.chart_style import color
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.plots import cost_plot, costs_differ, interval_plot
from mosaic_lab.evaluation.reports.summary_table import summary_table
from mosaic_lab.evaluation.statistics.averages import AVERAGES
from mosaic_lab.number_format import DASH, full_number, milliseconds, money, number
from mosaic_lab.widgets.evaluation.result_panel import ResultReader, next_due

if TYPE_CHECKING:
    import pandas as pd


_ESTIMATES = {
    **AVERAGES,
    "mean": "Mean return",
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
_FULL = (*AVERAGES, "length")  # as in the summary
_LATENCIES = ("exchange_ms_p50", "exchange_ms_p95")


@dataclass(frozen=True)
class EvaluationSnapshot:
    """The content of a panel: ``done`` and ``seconds_left`` are current, the rest is of the last resampling.

    ``plots``: the intervals and, with language models, returns against costs. ``spent``: how much of the
    budget has been spent, if there is one. ``failures``: the errors of failed episodes, with counts.
    ``damage``: why there are no numbers, see `Evaluation.damage`. ``parts``: the parts on a cluster, as text.
    """

    done: int
    seconds_left: float | None
    failed: int
    table: dict[str, Any]
    plots: tuple[Plot, ...]
    spent: str
    failures: list[tuple[str, int]]
    damage: str
    parts: str


class SnapshotReader(ResultReader[EvaluationSnapshot]):
    """Reads ``evaluation``, a handle that nothing else uses."""

    RETRY_SECONDS = 30.0

    def __init__(self, evaluation: Evaluation, news: Callable[[], None]) -> None:
        super().__init__(f"The episodes of evaluation {evaluation.id}", news)
        self._evaluation = evaluation
        self._resample_at = 0.0

    def read_due(self) -> None:
        if self.latest is None or time.monotonic() >= self._resample_at:
            self.read()
        else:
            self._count(self.latest)

    def read(self) -> EvaluationSnapshot:
        with self._lock:
            began, evaluation = time.monotonic(), self._evaluation
            damage = evaluation.damage
            records = [] if damage else evaluation.records()
            failures = Counter(
                f"{record['operator']}: {record['error']}"
                for record in records
                if record["status"] == "failed"
            )
            summary = summary_table(evaluation.plan, [], None, 0) if damage else evaluation.summary()
            failed = int(summary["failed"].sum())
            self.latest = EvaluationSnapshot(
                done=evaluation.done if damage else int(summary["episodes"].sum()) + failed,
                seconds_left=evaluation.time_left,
                failed=failed,
                table=operators_table(summary, _totals(evaluation)),
                plots=_plots(evaluation, summary),
                spent=_spent(evaluation),
                failures=failures.most_common(),
                damage=damage,
                parts=evaluation.parts_text,
            )
            self._resample_at = next_due(began)
            return self.latest

    def _count(self, latest: EvaluationSnapshot) -> None:
        with self._lock:
            began, evaluation = time.monotonic(), self._evaluation
            self.latest = replace(
                latest,
                done=evaluation.done,
                seconds_left=evaluation.time_left,
                spent=_spent(evaluation),
                parts=evaluation.parts_text,
            )
            self._read_at = next_due(began)


def _totals(evaluation: Evaluation) -> dict[str, int]:
    """Return the number of episodes of each operator."""
    lanes = evaluation.plan.lanes_by_operator
    per_lane = evaluation.total // len(evaluation.plan.lanes)
    return {label: per_lane * len(lane_names) for label, lane_names in lanes.items()}


def _plots(evaluation: Evaluation, summary: pd.DataFrame) -> tuple[Plot, ...]:
    results = {} if evaluation.damage else evaluation.played()
    intervals = interval_plot(summary, "Returns", "return", results, evaluation.replay_of)
    if not costs_differ(summary):
        return (intervals,)
    return intervals, cost_plot(summary, "Returns and costs", "return")


def _spent(evaluation: Evaluation) -> str:
    budget = evaluation.plan.request.budget
    return budget_text(budget, evaluation.spent()) if budget else ""


def operators_table(summary: pd.DataFrame, totals: Mapping[str, int]) -> dict[str, Any]:
    """Return the contents of a `Table`. ``totals``: the number of episodes of each operator."""
    names = [name for name in _ESTIMATES if name in summary]
    failures = bool(summary["failed"].any())
    numbers = ["Episodes", *(["Failed"] if failures else []), *map(_ESTIMATES.__getitem__, names)]
    columns = [{"title": title, "numeric": title != "Operator"} for title in ("Operator", *numbers)]
    rows = []
    for index, (label, values) in enumerate(summary.to_dict("index").items()):
        cells = [f"{values['episodes'] + values['failed']:,} of {totals[str(label)]:,}"]
        cells += [f"{values['failed']:,}"] if failures else []
        cells += [_cell(values, name) for name in names]
        rows.append([{"text": str(label), "color": color(index)}, *({"text": text} for text in cells)])
    return {"columns": columns, "rows": rows}


def budget_text(budget: Mapping[str, float | None] | None, spent: Mapping[str, Any]) -> str:
    """Return how much of a budget has been spent: ``$0.41 of $2.00``, ``12k of 50k tokens``; empty without a
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
    value, *bounds = (_text(name, values.get(name + suffix)) for suffix in ("", "_low", "_high"))
    return f"{value} [{bounds[0]}, {bounds[1]}]" if bounds[0] != DASH else value


def _text(name: str, value: float | None) -> str:
    if value is None or value != value:
        return DASH
    if name in _SHARES:
        return f"{value:.0%}"
    return full_number(value) if name in _FULL else number(value)
