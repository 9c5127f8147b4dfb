"""The tokens, cost and latency of a lane's language models, over all of its episodes.

Exchanges of steps that were made count; those of a step that a reset has ended are in the recording only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from mosaic_contract.arena.exchanges import ExchangeSums, exchanges_of


class ModelUsage:
    """Sums that a page shows while the lane steps."""

    def __init__(self) -> None:
        self._sums = ExchangeSums()

    def take(self, moves: Iterable[Mapping[str, Any]]) -> None:
        """Count the exchanges of one step, as its arena reports them."""
        for move in moves:
            self._sums.add(exchanges_of(move))

    def to_dict(self) -> dict[str, Any] | None:
        """Return `ExchangeSums`' counts and amounts and the median latency in milliseconds (``exchange_ms``);
        None without an exchange."""
        sums = self._sums
        if not sums.counts["exchanges"]:
            return None
        latency = median(sums.latencies) if sums.latencies else None
        return {**sums.counts, **sums.amounts, "exchange_ms": latency}
