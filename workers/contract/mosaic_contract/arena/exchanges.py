"""The requests to language models that an operator reports with its action, as they are passed on.

They come from outside: whatever is not a list of objects counts as none, and a number that is not one as
unknown.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Mapping, Sequence

from ..codec import OPERATING_LINE_LIMIT, encode_line

MOVE_BYTES = 256 << 10
"""What the exchanges of one move may take as JSON."""
_MOST = 200  # of one action; the newest
_TEXT_CHARACTERS = (16_000, 4_000, 1_000, 200)  # what is left of each text, until all of it fits
_NUMBERS = ("input_tokens", "output_tokens", "cost_usd", "latency_ms")

Exchange = Mapping[str, Any]


def exchanges_of(answer: Mapping[str, Any]) -> list[Exchange]:
    """The exchanges of an operator's answer."""
    given = answer.get("exchanges")
    return [one for one in given[-_MOST:] if isinstance(one, Mapping)] if isinstance(given, list) else []


def number_of(exchange: Exchange, name: str) -> float | None:
    """A number of an exchange; None where it is unknown."""
    value = exchange.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if isfinite(value) and value >= 0 else None


def faults_of(exchange: Exchange) -> list[str]:
    """The names of its faults."""
    faults = exchange.get("faults")
    return [name for name in faults if isinstance(name, str)] if isinstance(faults, list) else []


def bounded(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The exchanges in `MOVE_BYTES`: prompts are shortened from the middle first, then the other texts; the
    numbers and the faults stay."""
    shortened = list(exchanges)
    for prompts_only in (True, False):
        for limit in _TEXT_CHARACTERS:
            if len(encode_line({"exchanges": shortened}, OPERATING_LINE_LIMIT)) <= MOVE_BYTES:
                return shortened
            shortened = [_shortened(exchange, limit, prompts_only) for exchange in exchanges]
    if len(encode_line({"exchanges": shortened}, OPERATING_LINE_LIMIT)) <= MOVE_BYTES:
        return shortened
    return [  # of a form that is not ours
        {**{name: number_of(exchange, name) for name in _NUMBERS}, "faults": faults_of(exchange)[:20]}
        for exchange in exchanges
    ]


def _shortened(exchange: Exchange, limit: int, prompts_only: bool) -> Exchange:
    return {
        key: value if prompts_only and key != "prompt" else _cut(value, limit)
        for key, value in exchange.items()
    }


def _cut(value: Any, limit: int) -> Any:
    """The value with all its texts cut to about so many characters each."""
    if isinstance(value, str) and len(value) > limit:
        head = limit // 2
        tail = limit - head
        return f"{value[:head]}\n[… {len(value) - limit} characters are left out here …]\n{value[-tail:]}"
    if isinstance(value, Mapping):
        return {key: _cut(part, limit) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part, limit) for part in value]
    return value
