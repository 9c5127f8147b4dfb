"""Tables of a panel's static form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], words: int | None = None) -> str:
    """Return texts as a table of HTML, escaped.

    ``words``: the first so many columns are aligned to the left, the numbers after them to the right.
    """
    styles = [""] * len(columns)
    if words is not None:
        sides = ["left" if index < words else "right" for index in range(len(columns))]
        styles = [f' style="text-align:{side}"' for side in sides]

    def row(tag: str, texts: Sequence[str]) -> str:
        cells = zip(styles, texts, strict=True)
        return f"<tr>{''.join(f'<{tag}{style}>{escape(text)}</{tag}>' for style, text in cells)}</tr>"

    body = "".join(row("td", texts) for texts in rows)
    return f'<table style="margin:4px 0"><thead>{row("th", columns)}</thead><tbody>{body}</tbody></table>'
