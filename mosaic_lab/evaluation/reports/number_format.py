"""Numbers of evaluations as people read them."""

from __future__ import annotations

import math


def short(number: float, sign: str = "") -> str:
    """Three digits that count, or whole numbers; a dash for NaN. ``sign``: "+" shows that of any number."""
    if math.isnan(number):
        return "–"
    return f"{number:{sign},.0f}" if abs(number) >= 100 else f"{number:{sign}.3g}"
