"""The numbers of an evaluation's panel, read in the background at a rate that keeps the cost low.

Counting episodes is cheap. Resampling takes longer with more episodes, and is then done less often.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.plots import cost_plot, costs_differ, interval_plot
from mosaic_lab.evaluation.reports.summary_table import summary_table
from mosaic_lab.widgets.evaluation.operator_table import budget_text, operators_table

if TYPE_CHECKING:
    import pandas as pd

SHARE = 0.05
"""Maximum share of time for counting, and for resampling."""
FAILED_SECONDS = 30.0
"""Seconds between a failed reading and the next attempt."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EvaluationSnapshot:
    """The content of a panel: ``done`` and ``left`` are current, the rest is from the last resampling.

    ``plots``: the intervals and, with language models, returns against costs. ``spent``: the spent part of
    the budget, if there is one. ``failures``: the errors of failed episodes, with counts. ``damage``: why
    there are no numbers, see `Evaluation.damage`. ``parts``: the parts on a cluster, as text.
    """

    done: int
    left: float | None
    failed: int
    table: dict[str, Any]
    plots: tuple[Plot, ...]
    spent: str
    failures: list[tuple[str, int]]
    damage: str
    parts: str


class SnapshotReader:
    """Reads ``evaluation``, its own handle, in the background, and calls ``news`` after each reading."""

    def __init__(self, evaluation: Evaluation, news: Callable[[], None]) -> None:
        self.latest: EvaluationSnapshot | None = None
        self._evaluation = evaluation
        self._news = news
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._count_at = self._resample_at = 0.0

    def read_in_background(self) -> None:
        """Start a reading in its own thread, unless one is running or it is too early."""
        under_way = self._thread is not None and self._thread.is_alive()
        if not under_way and time.monotonic() >= self._count_at:
            self._thread = threading.Thread(target=self._try, name="mosaic-evaluation", daemon=True)
            self._thread.start()

    def _try(self) -> None:
        try:
            if self.latest is None or time.monotonic() >= self._resample_at:
                self.read()
            else:
                self._count(self.latest)
        except Exception:
            self._count_at = time.monotonic() + FAILED_SECONDS
            logger.exception("The episodes of evaluation %s could not be read.", self._evaluation.id)
        self._news()

    def read(self) -> EvaluationSnapshot:
        """Read everything now."""
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
                left=evaluation.time_left,
                failed=failed,
                table=operators_table(summary, _totals(evaluation)),
                plots=_plots(summary),
                spent=_spent(evaluation),
                failures=failures.most_common(),
                damage=damage,
                parts=evaluation.parts_text,
            )
            self._resample_at = _due(began)
            return self.latest

    def _count(self, latest: EvaluationSnapshot) -> None:
        with self._lock:
            began, evaluation = time.monotonic(), self._evaluation
            self.latest = replace(
                latest,
                done=evaluation.done,
                left=evaluation.time_left,
                spent=_spent(evaluation),
                parts=evaluation.parts_text,
            )
            self._count_at = _due(began)


def _totals(evaluation: Evaluation) -> dict[str, int]:
    """Return the number of episodes of each operator."""
    lanes = evaluation.plan.lanes_by_operator
    each = evaluation.total // len(evaluation.plan.lanes)
    return {label: each * len(own) for label, own in lanes.items()}


def _plots(summary: pd.DataFrame) -> tuple[Plot, ...]:
    intervals = interval_plot(summary, "Returns", "return")
    if not costs_differ(summary):
        return (intervals,)
    return intervals, cost_plot(summary, "Returns and costs", "return")


def _spent(evaluation: Evaluation) -> str:
    budget = evaluation.plan.request.budget
    return budget_text(budget, evaluation.spent()) if budget else ""


def _due(began: float) -> float:
    """Return when work that started at a given time and ends now may be repeated."""
    now = time.monotonic()
    return now + (now - began) / SHARE
