"""Runs as a table for people.

Crosses the boundary: `RunList`, a list of runs whose text and HTML forms are the table.
"""

from __future__ import annotations

import html

from mosaic_lab.supervisor import Run

_SHOWN = 50
_COLUMNS = ("run", "state", "progress", "reason")


class RunList(list[Run]):
    """Runs, oldest first; shown as a table of the newest fifty."""

    def rows(self) -> list[tuple[str, str, str, str]]:
        """``(id, state, progress, reason)`` of the newest runs."""
        return [(run.id, str(run.state), progress_text(run), run.reason) for run in self[-_SHOWN:]]

    def __repr__(self) -> str:
        if not self:
            return "no runs"
        rows = [_COLUMNS, *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)] + [0]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        ]
        return "\n".join([*self._older(), *lines])

    def _repr_html_(self) -> str:
        def line(cells: tuple[str, ...], tag: str) -> str:
            style = ' style="text-align:left"'
            return "<tr>" + "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        if not self:
            return "<p>no runs</p>"
        body = "".join(line(row, "td") for row in self.rows())
        older = "".join(f"<p>{html.escape(text)}</p>" for text in self._older())
        return f"{older}<table><thead>{line(_COLUMNS, 'th')}</thead><tbody>{body}</tbody></table>"

    def _older(self) -> list[str]:
        hidden = len(self) - _SHOWN
        return [f"({hidden} older runs are not shown)"] if hidden > 0 else []


def progress_text(run: Run) -> str:
    """``45% of 100,000``, the bare step count without a known end, or nothing before the first step."""
    step, total = run.step, run.total_timesteps
    if step is None:
        return ""
    return f"{min(1.0, step / total):.0%} of {total:,}" if total else f"{step:,} steps"


def duration_text(seconds: float) -> str:
    """``0:01:30``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
