"""Sanitize text from other processes for display, so that it cannot control a terminal.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]"  # a reset, character sets, and the start of an unterminated sequence
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line ends
_MISLEADING = re.compile(
    r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of neighbouring text
    r"\ud800-\udfff]"  # lone surrogates, which UTF-8 cannot encode
)
MAX_NAME = 120
"""Maximum length of a file name."""


def sanitize(text: str) -> str:
    """Return ``text`` without terminal control sequences and control characters, except tabs and line ends.
    Characters that change the direction of text, and those that UTF-8 cannot encode, are shown as escapes."""
    if text.isascii() and text.isprintable():
        return text
    text = _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return escaped(text)


def escaped(text: str) -> str:
    """Return ``text`` with misleading and unencodable characters as Python escapes, such as ``\\u202e``."""
    return _MISLEADING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def well_formed(value: Any) -> Any:
    """Return a JSON value with misleading and unencodable characters in strings and keys escaped."""
    return _mapped(value, escaped)


def sanitize_json(value: Any) -> Any:
    """Return a JSON value with all strings, keys included, sanitized."""
    return _mapped(value, sanitize)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    return value


def file_name(words: Sequence[str], kind: str) -> str:
    """Return a file name of ``kind`` ("csv", "png") that is valid on every system."""
    name = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in word) for word in words)
    return f"{name[:MAX_NAME]}.{kind}"
