"""Text of other processes made safe to show: a terminal must not act on it. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]"  # a reset, character sets, and the head of a sequence that does not end
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line ends
_MISLEADING = re.compile(
    r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # reorder what stands beside them
    r"\ud800-\udfff]"  # halves of characters, which cannot be written as UTF-8
)


def sanitize(text: str) -> str:
    """Return ``text`` without terminal control sequences and control characters; tabs and line ends stay.

    Characters that change the direction of text, and those that UTF-8 does not have, are shown as escapes.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return escaped(text)


def escaped(text: str) -> str:
    """Return ``text`` with escapes, as Python writes them, for characters that mislead or cannot be written:
    ``\\u202e``."""
    return _MISLEADING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def well_formed(value: Any) -> Any:
    """Return a JSON value whose texts, keys included, can be written as UTF-8 and mislead no reader."""
    return _mapped(value, escaped)


def sanitize_json(value: Any) -> Any:
    """Return a JSON value with each of its texts, keys included, sanitized."""
    return _mapped(value, sanitize)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    return value
