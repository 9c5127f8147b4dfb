"""Format numbers for readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from mosaic_contract.language.budget import dollars

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
DASH = "–"
MAX_DIGITS = 15
"""The precision of a float."""
UNKNOWN = "unknown"
"""Stands for a cost or a count that was not reported, as opposed to 0."""


def number(value: float | None, digits: int = 3) -> str:
    """Format with three significant digits, or more: ``1.2M``, ``231``, ``0.0025``, ``1.5e-07``; a dash for
    ``None`` and NaN. Counts below 10,000 are written in full (``9,999``)."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    sign, size = ("−" if value < 0 else ""), abs(value)
    if size >= 9_999.5:
        for unit, letter in _UNITS:
            if size >= 0.9995 * unit:
                return f"{sign}{_digits(size / unit, digits)}{letter}"
    if size == int(size):
        return f"{sign}{size:,.0f}"
    if size < 1e-3:
        return f"{sign}{size:.{digits - 2}e}"
    return sign + _digits(size, digits)


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """Format the ticks of an axis as `number` does, with the digits that distinguish them."""
    step = min((after - before for before, after in pairwise(ticks)), default=0.0)
    largest = max(map(abs, ticks), default=0.0)
    digits = math.floor(math.log10(largest)) - math.floor(math.log10(step)) + 2 if step > 0 else 0
    return [number(tick, min(max(3, digits), MAX_DIGITS)) for tick in ticks]


def setting_text(value: object) -> str:
    """Format a setting: a float with six significant digits in Python's notation (``0.0003``, ``2.5e-05``),
    an integral one in full, any other value unchanged."""
    if not isinstance(value, float) or (value.is_integer() and abs(value) < 1e15):
        return f"{value:.0f}" if isinstance(value, float) else str(value)
    return f"{value:.6g}"


def full_number(value: float, sign: str = "") -> str:
    """Format with three significant digits without units, as integers from 100: ``21.3``, ``12,345``; a dash
    for NaN. ``sign="+"`` shows the sign of positive numbers too."""
    if math.isnan(value):
        return DASH
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def duration(seconds: float | None) -> str:
    """Format the two largest units: ``0.8s``, ``42s``, ``3m 20s``, ``1h 05m``, ``2d 03h``; a dash for
    None.
    """
    if seconds is None or not math.isfinite(seconds):
        return DASH
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600:02d}h"


def milliseconds(value: float | None) -> str:
    """Format a latency: ``4.2 ms``, ``870 ms``, ``1.3s``, ``12s``; a dash for ``None`` and NaN."""
    if value is None or not math.isfinite(value) or value >= 999.5:
        return duration(None if value is None else value / 1000)
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def money(usd: float | None) -> str:
    """Format US dollars: ``$0.00042``, ``$1.98``; "unknown" for ``None`` and NaN."""
    return UNKNOWN if usd is None or math.isnan(usd) else dollars(usd)


def memory(megabytes: float | None) -> str:
    """Format mebibytes: ``512 MB``, ``1.3 GB``; a dash for ``None``."""
    if megabytes is None:
        return DASH
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


def _digits(size: float, digits: int) -> str:
    """Format with this many significant digits, without an exponent or trailing zeros."""
    places = max(0, digits - 1 - math.floor(math.log10(size))) if size else 0
    text = f"{size:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
