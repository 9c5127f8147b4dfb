"""Token prices: a small table, overridden by the user's own prices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Mapping

from mosaic_contract.language.settings import ANTHROPIC, LOCAL, OPENAI

PRICES_OF = "2026-11"
"""The month of the table. It lists prices of plain requests, without a provider's tiers for prompts of more
than 100,000 tokens and without charges for cache writes."""


@dataclass(frozen=True)
class Price:
    """USD per million tokens; `cached` is the price of input tokens found in the endpoint's cache."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the cost in USD. Cached tokens are included in the input tokens."""
        cached = self.input if self.cached is None else self.cached
        fresh = input_tokens - cached_tokens
        return (fresh * self.input + cached_tokens * cached + output_tokens * self.output) / 1e6


_TABLE: dict[tuple[str, str], Price] = {
    (OPENAI, "gpt-6.1-sol"): Price(2.0, 10.0, 0.1),
    (OPENAI, "gpt-6.1-terra"): Price(1.0, 5.0, 0.05),
    (OPENAI, "gpt-6-sol"): Price(2.0, 10.0, 0.2),
    (OPENAI, "gpt-6-luna"): Price(0.1, 0.5, 0.01),
    (OPENAI, "gpt-5.4"): Price(2.5, 15.0, 0.25),
    (OPENAI, "gpt-5.4-mini"): Price(0.75, 4.5, 0.075),
    (OPENAI, "gpt-5.2"): Price(1.75, 14.0, 0.175),
    (OPENAI, "gpt-5"): Price(1.25, 10.0, 0.125),
    (OPENAI, "gpt-5-mini"): Price(0.25, 2.0, 0.025),
    (OPENAI, "gpt-5-nano"): Price(0.05, 0.4, 0.005),
    (OPENAI, "gpt-4.1"): Price(2.0, 8.0, 0.5),
    (OPENAI, "gpt-4.1-mini"): Price(0.4, 1.6, 0.1),
    (OPENAI, "gpt-4o"): Price(2.5, 10.0, 1.25),
    (OPENAI, "gpt-4o-mini"): Price(0.15, 0.6, 0.075),
    (ANTHROPIC, "claude-fable-5-1"): Price(10.0, 50.0, 0.25),
    (ANTHROPIC, "claude-opus-5-5"): Price(4.0, 20.0, 0.2),
    (ANTHROPIC, "claude-opus-5"): Price(5.0, 25.0, 0.5),
    (ANTHROPIC, "claude-sonnet-5-5"): Price(2.0, 10.0, 0.1),
    (ANTHROPIC, "claude-sonnet-5"): Price(2.0, 10.0, 0.2),
    (ANTHROPIC, "claude-sonnet-4-5"): Price(3.0, 15.0, 0.3),
    (ANTHROPIC, "claude-haiku-5-5"): Price(0.1, 0.5, 0.01),
    (ANTHROPIC, "claude-haiku-4-5"): Price(1.0, 5.0, 0.1),
}
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def price_of(
    provider: str, model: str, prices: Mapping[str, float] | None = None, base_url: str | None = None
) -> Price | None:
    """Return the price of a model: the user's `prices` ({"input", "output"}, USD per million tokens), else
    the table's, else None. The table does not apply to a server at a `base_url`; the local model costs
    nothing."""
    if provider == LOCAL:
        return Price(0.0, 0.0)
    if prices is not None:
        return Price(prices["input"], prices["output"], prices.get("cached"))
    if base_url is not None:
        return None
    return _TABLE.get((provider, model)) or _TABLE.get((provider, _DATED.sub("", model)))
