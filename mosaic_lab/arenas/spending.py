"""What the language models of a lane were asked and what that cost, over all of its episodes.

Crosses the boundary: `Spending`. It counts the exchanges of steps that were made; those of a step that was
given up for a reset stand in the recording only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from mosaic_contract.arena.exchanges import faults_of, number_of

MOST_LATENCIES = 2000
"""The newest ones, which the median is of."""
_NO_FAILURE = {"repair", "default"}
"""What an exchange is marked with beside the faults of its answer."""


class Spending:
    """Sums that a page shows while the lane steps. A sum is None as soon as one of its numbers is unknown."""

    def __init__(self) -> None:
        self._sums: dict[str, float | None] = {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
        self._counts = {"exchanges": 0, "parse_faults": 0, "repairs": 0, "defaults": 0}
        self._latencies: deque[float] = deque(maxlen=MOST_LATENCIES)

    def take(self, moves: Iterable[Mapping[str, Any]]) -> None:
        """Count the exchanges of one step, as its arena reports them."""
        for move in moves:
            for exchange in move.get("exchanges") or ():
                self._add(exchange)

    def _add(self, exchange: Mapping[str, Any]) -> None:
        faults = set(faults_of(exchange))
        self._counts["exchanges"] += 1
        self._counts["parse_faults"] += bool(faults - _NO_FAILURE)
        self._counts["repairs"] += "repair" in faults
        self._counts["defaults"] += "default" in faults
        for name, total in self._sums.items():
            spent = number_of(exchange, name)
            self._sums[name] = None if total is None or spent is None else total + spent
        if (latency := number_of(exchange, "latency_ms")) is not None:
            self._latencies.append(latency)

    def to_dict(self) -> dict[str, Any] | None:
        """Return the sums, the counts and the median latency (``exchange_ms``); None without an exchange."""
        if not self._counts["exchanges"]:
            return None
        return {
            **self._counts,
            **self._sums,
            "exchange_ms": median(self._latencies) if self._latencies else None,
        }
