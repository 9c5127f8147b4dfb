"""The part of a panel that stays in a saved notebook: its caption with tables, and its picture.

Runs, frames, comparisons and evaluations all use this class. See ``outputs`` for the layout of its outputs in
a cell.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from mosaic_lab.widgets.page.outputs import NOTHING, PanelOutput, caption, live, picture, publish

MOST_OUTPUTS = 16
"""Maximum number of outputs that keep a panel up to date; the oldest are no longer updated."""

logger = logging.getLogger(__name__)


class Caption(NamedTuple):
    """``text`` follows the title; ``tables`` is HTML below it, with escaped texts."""

    text: str = ""
    tables: str = ""


class SavedForm:
    """The widget and the static form of one panel, in every output of the notebook that shows it.

    ``describe`` returns the caption and ``draw`` the picture as PNG (None: no picture). Both are called on
    the thread that shows or updates the form; ``draw`` may be slow. ``pictured`` is the text for programs
    that show no pictures. ``on_removed`` is called when the last output has left the page. ``description``
    describes the panel to a later kernel (see ``saved_panels``); None for a panel that ends with its kernel.

    For example, a form that is complete at once::

        form = SavedForm("Returns", lambda: Caption("three seeds"), lambda: png, on_removed=widget.close)
        form.update(final=True)
        form.show(widget, form.add(), update=False)
    """

    def __init__(
        self,
        title: str,
        describe: Callable[[], Caption],
        draw: Callable[[], bytes | None],
        *,
        pictured: str = "",
        on_removed: Callable[[], None],
        description: Mapping[str, Any] | None = None,
    ) -> None:
        self.final = False
        """Whether the form will not change any more."""
        self.outputs: tuple[PanelOutput, ...] = ()
        """The outputs that show the panel, in the order in which they were added."""
        self._title = title
        self._describe = describe
        self._draw = draw
        self._pictured = pictured or title
        self._on_removed = on_removed
        self._description = description
        self._caption = Caption()
        self._png: bytes | None = None
        self._failed = False
        self._lock = threading.Lock()
        self._drawing = threading.Lock()

    def add(self, output: PanelOutput | None = None) -> PanelOutput:
        """Return a new output, or add the ``output`` of a former kernel's panel."""
        output = output or PanelOutput()
        self.outputs = (*self.outputs, output)[-MOST_OUTPUTS:]
        _forms[output.caption] = self
        return output

    def remove(self, caption: str) -> None:
        """Remove the output with this caption, which has left the page."""
        before = self.outputs
        self.outputs = tuple(output for output in before if output.caption != caption)
        if before and not self.outputs:
            self._on_removed()

    def show(self, widget: Any, output: PanelOutput, *, update: bool) -> None:
        """Show the widget in an added output with the current static form, without drawing.

        ``update``: the output is already on the page, from a former kernel.
        """
        with self._lock:
            if not self.final:
                self._caption = self._describe()
            publish(live(widget, self._title), output.live, update=update)
            self._publish(output, update=update)

    def update(self, *, final: bool = False) -> None:
        """Describe and draw the panel, and publish both in every output before returning.

        ``final``: the form will not change any more. If the picture cannot be drawn, this is logged once, and
        the previous picture remains.
        """
        with self._drawing:
            caption, png = self._describe(), self._drawn()
            with self._lock:
                self._caption, self._png, self.final = caption, png, final
            self.publish_again()

    def publish_again(self) -> None:
        """Publish the static form in every output again, in case a page missed it."""
        with self._lock:
            for output in self.outputs:
                self._publish(output, update=True)

    def hide_widget(self, outputs: Collection[PanelOutput]) -> None:
        """Remove the widget from these outputs: no browser has shown it, and the static form has the same
        content."""
        for output in outputs:
            publish(NOTHING, output.live, update=True)

    def wait(self) -> None:
        """Wait until an update in progress has been published."""
        with self._drawing:
            pass

    def _drawn(self) -> bytes | None:
        try:
            return self._draw()
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("The static picture of %s could not be drawn.", self._title)
            return self._png

    def _publish(self, output: PanelOutput, *, update: bool) -> None:
        text, tables = self._caption
        html = f" · {escape(text)}" if text else ""
        head = caption(self._title, html + tables, f"{self._title}: {text}" if text else "")
        about: dict[str, Any] = {"panel": [output.live, output.caption, output.picture]}
        if self._description is not None:
            about |= {"shows": self._description, "ended": self.final}
        parts = [(head, output.caption, about), (picture(self._png, self._pictured), output.picture, {})]
        # The caption is published last: a page whose caption shows the end of a panel sends no more requests.
        for bundle, part, metadata in reversed(parts) if update else parts:
            publish(bundle, part, metadata, update=update)


_forms: WeakValueDictionary[str, SavedForm] = WeakValueDictionary()
"""By the display ids of captions."""


def form_of(caption: str) -> SavedForm | None:
    """Return the form with an output whose caption has this display id, if this kernel created it."""
    return _forms.get(caption)


def html_notes(texts: Iterable[str]) -> str:
    """Return texts as escaped HTML lines for a caption."""
    return "".join(f'<div style="opacity:.75">{escape(text)}</div>' for text in texts)


def table_html(
    table: Mapping[str, Any], rows: Iterable[Sequence[Mapping[str, Any]]], words: int | None = None
) -> str:
    """Return rows of a panel's `Table` as HTML; see `html_table`."""
    titles = [column["title"] for column in table["columns"]]
    return html_table(titles, ([cell["text"] for cell in row] for row in rows), words)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], words: int | None = None) -> str:
    """Return texts as an escaped HTML table for a caption.

    ``words``: number of leading columns aligned to the left; the others are numbers, aligned to the right.
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
