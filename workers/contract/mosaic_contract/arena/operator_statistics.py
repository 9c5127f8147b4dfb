"""Sums over the calls of an arena's operators in an episode, whose single steps are not reported."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.exchanges import ExchangeSums

_COLUMN = {"late": "late", "illegal": "illegal"}  # whatever else went wrong is an error


class OperatorStatistics:
    """Sums for each operator, by its key, of the calls that were made of it."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._sums = {
            key: dict.fromkeys(("calls", "illegal", "late", "errors", "input_tokens", "output_tokens"), 0)
            for key in operators
        }
        self._seconds = dict.fromkeys(self._sums, 0.0)
        self._exchanges: dict[str, ExchangeSums] = {}

    def add(self, calls: Sequence[Call]) -> None:
        """Count the calls of one step; those that were not awaited to the end do not count."""
        for call in calls:
            if not call.done:
                continue
            key = call.operator.key
            sums = self._sums[key]
            sums["calls"] += 1
            self._seconds[key] += call.seconds
            if call.fault is not None:
                sums[_COLUMN.get(call.fault, "errors")] += 1
            for name in ("input_tokens", "output_tokens"):
                if name in call.answer:
                    sums[name] += call.tokens(name)
            if exchanges := call.exchanges:
                self._exchanges.setdefault(key, ExchangeSums()).add(exchanges)

    def to_message(self) -> dict[str, Any]:
        """Return for each operator its sums and the mean latency of a call in milliseconds; where it reported
        exchanges, their number, tokens and cost (None where one is unknown), faults and latencies in
        milliseconds."""
        return {
            key: {
                **sums,
                "latency_ms": round(1e3 * self._seconds[key] / max(sums["calls"], 1), 4),
                **(_summed(self._exchanges[key]) if key in self._exchanges else {}),
            }
            for key, sums in self._sums.items()
        }


def _summed(sums: ExchangeSums) -> dict[str, Any]:
    cost = sums.amounts["cost_usd"]
    return {
        **sums.counts,
        **sums.amounts,
        "cost_usd": None if cost is None else round(cost, 9),
        "exchange_ms": [round(latency) for latency in sums.latencies],
    }
