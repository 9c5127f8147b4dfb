"""Actions as text, for viewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract.arrays import unpack

_DIGITS = 3


def action_text(action: Any, meanings: Sequence[str] | None = None) -> str:
    """Return an action as readable text: ``push left``, ``3``, ``[0.12, -1]``, or ``thigh 1`` (the nonzero
    values of named dimensions)."""
    if isinstance(action, int) and meanings and 0 <= action < len(meanings):
        return meanings[action]
    if isinstance(action, Mapping):
        action = unpack(action)
    if hasattr(action, "tolist"):
        action = action.tolist()
    if isinstance(action, list | tuple) and meanings and len(meanings) == len(action):
        parts = zip(meanings, action, strict=True)
        return ", ".join(f"{name} {action_text(part)}" for name, part in parts if part) or "all 0"
    if isinstance(action, list | tuple):
        return f"[{', '.join(map(action_text, action))}]"
    if isinstance(action, float):
        return f"{action:.{_DIGITS}g}"
    return str(action)
