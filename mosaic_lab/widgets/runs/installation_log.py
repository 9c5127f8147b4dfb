"""The progress of an installation: live while it runs, collapsed to one line when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from mosaic_lab.widgets.page.shell import notebook_shell


@contextmanager
def installation_log() -> Iterator[Callable[[str], None]]:
    """Provide a function that shows a line of progress.

    In a notebook the lines are one output of the cell, which collapses at the end of the block and stays open
    after an error. Anywhere else they are printed.
    """
    if notebook_shell() is None:
        yield print
        return
    from mosaic_lab.widgets.page.outputs import new_id, publish

    lines: list[str] = []
    output = new_id()

    def display(opened: bool) -> None:
        text = "\n".join(lines)
        last, every = (escape(part, quote=False) for part in (lines[-1].strip(), text))
        html = (
            f"<details{' open' * opened}><summary>Installation: {last}</summary>"
            f'<pre style="max-height:16em;overflow:auto">{every}</pre></details>'
        )
        first = opened and len(lines) == 1
        publish({"text/html": html, "text/plain": text}, output, update=not first)

    def add(line: str) -> None:
        lines.append(line)
        display(opened=True)

    yield add
    if lines:
        display(opened=False)
