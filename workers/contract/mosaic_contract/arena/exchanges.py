"""Requests to language models that an operator reports with its action, sanitized for forwarding. They are
untrusted input: anything other than a list of objects counts as no exchange, an invalid number as unknown."""

from __future__ import annotations

from collections import deque
from math import isfinite
from typing import Any, Iterable, Mapping, Sequence

from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line

MOVE_BYTES = 256 << 10
"""Maximum size in bytes of the exchanges of one move, as JSON."""
_MAX_EXCHANGES = 200  # exchanges per action; the newest are kept
_TEXT_CHARACTERS = (16_000, 4_000, 1_000, 200)  # limits per text, tried until all fit
_NUMBERS = ("input_tokens", "output_tokens", "cost_usd", "latency_ms")
_MAX_LATENCIES = 2_000
_NO_FAILURE = {"repair", "default"}  # marks that accompany the faults of an answer

Exchange = Mapping[str, Any]


def exchanges_of(answer: Mapping[str, Any]) -> list[Exchange]:
    """Return the exchanges of an operator's answer."""
    exchanges = answer.get("exchanges")
    if not isinstance(exchanges, list):
        return []
    return [exchange for exchange in exchanges[-_MAX_EXCHANGES:] if isinstance(exchange, Mapping)]


def number_of(exchange: Exchange, name: str) -> float | None:
    """Return a number of an exchange; None if unknown."""
    value = exchange.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if isfinite(value) and value >= 0 else None


def faults_of(exchange: Exchange) -> list[str]:
    """Return the names of an exchange's faults."""
    faults = exchange.get("faults")
    return [name for name in faults if isinstance(name, str)] if isinstance(faults, list) else []


class ExchangeSums:
    """Sums over exchanges: `counts` of exchanges and faults, `amounts` of tokens and US dollars (None once
    any exchange does not report its own), and the newest `latencies` in milliseconds."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("exchanges", "parse_faults", "repairs", "defaults"), 0)
        self.amounts: dict[str, float | None] = dict.fromkeys(
            ("input_tokens", "output_tokens", "cost_usd"), 0
        )
        self.latencies: deque[float] = deque(maxlen=_MAX_LATENCIES)

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Count exchanges reported by an operator."""
        for exchange in exchanges:
            faults = set(faults_of(exchange))
            self.counts["exchanges"] += 1
            self.counts["parse_faults"] += bool(faults - _NO_FAILURE)
            self.counts["repairs"] += "repair" in faults
            self.counts["defaults"] += "default" in faults
            for name, total in self.amounts.items():
                amount = number_of(exchange, name)
                self.amounts[name] = None if total is None or amount is None else total + amount
            if (latency := number_of(exchange, "latency_ms")) is not None:
                self.latencies.append(latency)


def shortened_to_fit(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return the exchanges, shortened to `MOVE_BYTES`: first prompts, from the middle, then other strings.
    Numbers and faults are kept."""
    shortened = list(exchanges)
    for prompts_only in (True, False):
        for limit in _TEXT_CHARACTERS:
            if len(encode_line({"exchanges": shortened}, OPERATING_LINE_LIMIT)) <= MOVE_BYTES:
                return shortened
            shortened = [_shortened(exchange, limit, prompts_only) for exchange in exchanges]
    if len(encode_line({"exchanges": shortened}, OPERATING_LINE_LIMIT)) <= MOVE_BYTES:
        return shortened
    return [  # not in our format
        {**{name: number_of(exchange, name) for name in _NUMBERS}, "faults": faults_of(exchange)[:20]}
        for exchange in exchanges
    ]


def _shortened(exchange: Exchange, limit: int, prompts_only: bool) -> Exchange:
    return {
        key: value if prompts_only and key != "prompt" else _cut(value, limit)
        for key, value in exchange.items()
    }


def _cut(value: Any, limit: int) -> Any:
    """Return the value with each string truncated to about `limit` characters."""
    if isinstance(value, str) and len(value) > limit:
        head = limit // 2
        tail = limit - head
        return f"{value[:head]}\n[… {len(value) - limit} characters are left out here …]\n{value[-tail:]}"
    if isinstance(value, Mapping):
        return {key: _cut(part, limit) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part, limit) for part in value]
    return value
