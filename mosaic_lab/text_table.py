"""Text in columns and shortened text, for the command line, reprs, charts and error messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Return the rows as lines with aligned columns, each as wide as its longest cell. All rows must have the
    same number of cells; a header is the first row."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(indent + line for line in lines)


def shortened(text: str, max_length: int) -> str:
    """Shorten the text in its middle to ``max_length`` characters: names differ at both ends."""
    end = (max_length - 1) // 2
    return text if len(text) <= max_length else f"{text[: max_length - 1 - end]}…{text[-end:]}"
