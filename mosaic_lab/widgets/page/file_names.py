"""Names of files saved by a page."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAME = 120
"""Maximum length of a file name."""


def file_name(words: Sequence[str], kind: str) -> str:
    """Return a file name of ``kind`` ("csv", "png") that is valid on every system."""
    name = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in word) for word in words)
    return f"{name[:MOST_NAME]}.{kind}"
