"""Text of other processes made safe to show: a terminal must not act on it. Standard library only."""

from __future__ import annotations

import re
from typing import Any

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]"  # a reset, character sets, and the head of a sequence that does not end
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line ends


def sanitize(text: str) -> str:
    """Return ``text`` without terminal control sequences and control characters; tabs and line ends stay."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def sanitize_json(value: Any) -> Any:
    """Return a JSON value with each of its texts, keys included, sanitized."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [sanitize_json(item) for item in value]
    if isinstance(value, dict):
        return {sanitize(key): sanitize_json(item) for key, item in value.items()}
    return value
