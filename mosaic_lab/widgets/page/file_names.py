"""Names of files that a page saves."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAME = 120
"""Characters of a file's name."""


def file_name(words: Sequence[str], kind: str) -> str:
    """Return a name for a file of ``kind`` ("csv", "png") that every system takes."""
    name = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in word) for word in words)
    return f"{name[:MOST_NAME]}.{kind}"
