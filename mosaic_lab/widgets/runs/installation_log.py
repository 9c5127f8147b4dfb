"""The progress of an installation: live while it goes on, collapsed to one line when it is done."""

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
    log = _CollapsibleLog()
    yield log.add
    log.collapse()


class _CollapsibleLog:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._output: str | None = None

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._display(opened=True)

    def collapse(self) -> None:
        if self._lines:
            self._display(opened=False)

    def _display(self, opened: bool) -> None:
        from mosaic_lab.widgets.page.outputs import new_id, publish

        text = "\n".join(self._lines)
        last, every = (escape(part, quote=False) for part in (self._lines[-1].strip(), text))
        html = (
            f"<details{' open' * opened}><summary>Installation: {last}</summary>"
            f'<pre style="max-height:16em;overflow:auto">{every}</pre></details>'
        )
        output = self._output or new_id()
        publish({"text/html": html, "text/plain": text}, output, update=self._output is not None)
        self._output = output
