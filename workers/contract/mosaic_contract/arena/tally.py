"""What the operators of one arena did in an episode, summed up: nobody is told of its single steps."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from .calls import Call
from .exchanges import Exchange, faults_of, number_of

_MOST_LATENCIES = 2_000
_COLUMN = {"late": "late", "illegal": "illegal"}  # whatever else went wrong is an error


class Tally:
    """Sums for each operator, by its key, of the calls that were made of it."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._sums = {
            key: dict.fromkeys(("calls", "illegal", "late", "errors", "input_tokens", "output_tokens"), 0)
            for key in operators
        }
        self._seconds = dict.fromkeys(self._sums, 0.0)
        self._exchanges: dict[str, _Exchanges] = {}

    def add(self, calls: Sequence[Call]) -> None:
        """Count the calls of one step; those that nobody waited for to the end do not count."""
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
                self._exchanges.setdefault(key, _Exchanges()).add(exchanges)

    def to_message(self) -> dict[str, Any]:
        """For each operator its sums and the mean latency of a call in milliseconds; where it reported
        exchanges, their number, tokens and cost (None where one is unknown), faults and latencies in
        milliseconds."""
        return {
            key: {
                **sums,
                "latency_ms": round(1e3 * self._seconds[key] / max(sums["calls"], 1), 4),
                **(self._exchanges[key].to_message() if key in self._exchanges else {}),
            }
            for key, sums in self._sums.items()
        }


class _Exchanges:
    """Sums over the exchanges of one operator."""

    def __init__(self) -> None:
        self._count = 0
        self._cost: float | None = 0.0
        self._tokens: dict[str, int | None] = {"input_tokens": 0, "output_tokens": 0}
        self._faults = dict.fromkeys(("parse_faults", "repairs", "defaults"), 0)
        self._latencies: list[int] = []

    def add(self, exchanges: Sequence[Exchange]) -> None:
        self._count += len(exchanges)
        for exchange in exchanges:
            cost, latency = number_of(exchange, "cost_usd"), number_of(exchange, "latency_ms")
            self._cost = None if self._cost is None or cost is None else self._cost + cost
            for name, total in self._tokens.items():
                count = number_of(exchange, name)
                self._tokens[name] = None if total is None or count is None else total + int(count)
            if latency is not None and len(self._latencies) < _MOST_LATENCIES:
                self._latencies.append(round(latency))
            faults = set(faults_of(exchange))
            self._faults["repairs"] += "repair" in faults
            self._faults["defaults"] += "default" in faults
            self._faults["parse_faults"] += bool(faults - {"repair", "default"})

    def to_message(self) -> dict[str, Any]:
        cost = None if self._cost is None else round(self._cost, 9)
        return {
            **self._tokens,
            "exchanges": self._count,
            "cost_usd": cost,
            **self._faults,
            "exchange_ms": self._latencies,
        }
