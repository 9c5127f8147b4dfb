"""Panels in a saved notebook: the caption and the picture that remain after the kernel is gone.

A live output and its static form are consecutive outputs, each with a display id: the widget, a caption
(HTML), a picture. A live page hides the last two while it shows the widget (``panel.css``). A page without
the widget shows them, and the caption's own style hides the widget's error message.

The metadata of an output contains its display id, for which the notebook format has no field. The page uses
it to find the output that a message updates, including outputs read from a file
(``js/src/extension/saved-outputs.ts``). It also describes the panel, so that a later kernel can show it
again. A notebook may come from an untrusted source: a description can name only runs of the announced store,
and no other file is opened for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

from IPython.display import publish_display_data

from mosaic_lab.runs import Run
from mosaic_lab.runs.run_names import latest_root

logger = logging.getLogger(__name__)

_STYLE = (
    "<style>.jp-OutputArea-child:has(> .jupyter-widgets):has(+ .jp-OutputArea-child .mosaic-saved)"
    ":not(:has(.mosaic-panel, .mosaic-workspace-cell)){display:none}</style>"
)
METADATA = "mosaic_lab"
"""The key of our entry in an output's metadata."""

Bundle = dict[str, Any]
NOTHING: Bundle = {"text/html": "", "text/plain": ""}
MAX_RUNS = 256
MAX_OUTPUTS = 16
"""Maximum number of outputs that keep a panel up to date; the oldest are no longer updated."""


def new_id() -> str:
    """Return a new unique display id."""
    return uuid4().hex


@dataclass(frozen=True)
class PanelOutput:
    """A place in a notebook that shows a panel: the display ids of its three outputs."""

    live: str = field(default_factory=new_id)
    caption: str = field(default_factory=new_id)
    picture: str = field(default_factory=new_id)


def publish(bundle: Bundle, output: str, metadata: Bundle | None = None, *, update: bool) -> None:
    """Publish a bundle as an output of the running cell, or ``update`` the output with that display id.
    ``metadata`` is added to our metadata of the output."""
    publish_display_data(
        bundle,
        metadata={METADATA: {"output": output, **(metadata or {})}},
        transient={"display_id": output},
        update=update,
    )


def live(widget: Any, title: str) -> Bundle:
    """Return the bundle that shows the widget."""
    view = widget._repr_mimebundle_()
    data = view[0] if isinstance(view, tuple) else view  # an anywidget adds metadata
    # Converters that cannot show a widget fall back to this empty text; the static form follows.
    return {**data, **NOTHING, "text/plain": title}


def caption(title: str, html: str, text: str = "") -> Bundle:
    """Return the caption of the static form; ``text`` is for programs that show no HTML."""
    return {
        "text/html": f'{_STYLE}<div class="mosaic-saved"><b>{escape(title)}</b>{html}</div>',
        "text/plain": text or title,
    }


def picture(png: bytes | None, text: str) -> Bundle:
    """Return the picture of the static form, if there is one."""
    return {"image/png": png, "text/plain": text} if png else NOTHING


class Caption(NamedTuple):
    """``text`` follows the title; ``tables`` is HTML below it, with escaped texts."""

    text: str = ""
    tables: str = ""


class SavedForm:
    """The widget and the static form of one panel, in every output of the notebook that shows it.

    ``describe`` returns the caption and ``draw`` the picture as PNG (None: no picture). Both are called on
    the thread that shows or updates the form; ``draw`` may be slow. ``pictured`` is the text for programs
    that show no pictures. ``on_removed`` is called when the last output has left the page. ``description``
    describes the panel to a later kernel (see `describe_panel`); None for a panel that ends with its kernel.

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
        self._timer: threading.Timer | None = None

    def add(self, output: PanelOutput | None = None) -> PanelOutput:
        """Return a new output, or add the ``output`` of a former kernel's panel."""
        output = output or PanelOutput()
        self.outputs = (*self.outputs, output)[-MAX_OUTPUTS:]
        _forms[output.caption] = self
        return output

    def remove(self, caption: str) -> None:
        """Remove the output with this caption, which has left the page."""
        previous = self.outputs
        self.outputs = tuple(output for output in previous if output.caption != caption)
        if previous and not self.outputs:
            if self._timer is not None:
                self._timer.cancel()
            self._on_removed()

    def show(self, widget: Any, output: PanelOutput, *, update: bool) -> None:
        """Show the widget in an added output with the current static form, without drawing. ``update``: the
        output is already on the page, from a former kernel."""
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
            caption, png = self._describe(), self._draw_picture()
            with self._lock:
                self._caption, self._png, self.final = caption, png, final
            self.publish_again()

    def update_after(self, seconds: float) -> threading.Thread:
        """Update on a thread of its own after ``seconds``, replacing an update that is still waiting."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self.update)
        self._timer.daemon = True
        self._timer.start()
        return self._timer

    def publish_again(self) -> None:
        """Publish the static form in every output again, in case a page missed it."""
        with self._lock:
            for output in self.outputs:
                self._publish(output, update=True)

    def hide_widget(self, outputs: Collection[PanelOutput]) -> None:
        """Remove the widget from these outputs, because no browser has shown it and the static form has the
        same content."""
        for output in outputs:
            publish(NOTHING, output.live, update=True)

    def wait(self) -> None:
        """Wait until an update in progress has been published."""
        with self._drawing:
            pass

    def _draw_picture(self) -> bytes | None:
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
        caption_metadata: dict[str, Any] = {"panel": [output.live, output.caption, output.picture]}
        if self._description is not None:
            caption_metadata |= {"shows": self._description, "ended": self.final}
        parts = [
            (head, output.caption, caption_metadata),
            (picture(self._png, self._pictured), output.picture, {}),
        ]
        # The caption is published last: a page whose caption shows the end of a panel sends no more requests.
        for bundle, part, metadata in reversed(parts) if update else parts:
            publish(bundle, part, metadata, update=update)


_forms: WeakValueDictionary[str, SavedForm] = WeakValueDictionary()
"""The forms by the display ids of their captions."""


def form_of(caption: str) -> SavedForm | None:
    """Return the form with an output whose caption has this display id, if this kernel created it."""
    return _forms.get(caption)


class ShownOutputs:
    """Widgets whose static form is complete at once, each in one output of the notebook.

    At most ``limit`` are live; beyond it, the oldest are closed, and the page shows their static form.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._closers: dict[SavedForm, Callable[[], None]] = {}

    def show(
        self,
        widget: Any,
        title: str,
        describe: Callable[[], Caption],
        draw: Callable[[], bytes | None],
        close: Callable[[], None],
    ) -> None:
        """Show a widget in the running cell; see `SavedForm`. ``close`` closes the widget."""
        form = SavedForm(title, describe, draw, on_removed=lambda: self._close(form))
        form.update(final=True)
        self._closers[form] = close
        form.show(widget, form.add(), update=False)
        if len(self._closers) > self._limit:
            self._close(next(iter(self._closers)))

    def _close(self, form: SavedForm) -> None:
        close = self._closers.pop(form, None)
        if close is not None:
            close()


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
    """Return texts as an escaped HTML table for a caption. ``words``: number of leading columns aligned to
    the left; the others are numbers, aligned to the right."""
    styles = [""] * len(columns)
    if words is not None:
        sides = ["left" if index < words else "right" for index in range(len(columns))]
        styles = [f' style="text-align:{side}"' for side in sides]

    def row(tag: str, texts: Sequence[str]) -> str:
        cells = zip(styles, texts, strict=True)
        return f"<tr>{''.join(f'<{tag}{style}>{escape(text)}</{tag}>' for style, text in cells)}</tr>"

    body = "".join(row("td", texts) for texts in rows)
    return f'<table style="margin:4px 0"><thead>{row("th", columns)}</thead><tbody>{body}</tbody></table>'


def describe_panel(kind: str, paths: Iterable[Path], **settings: Any) -> dict[str, Any] | None:
    """Describe a panel of the runs in ``paths`` for a saved output; None if their store belongs to no Lab."""
    root, paths = latest_root(), list(paths)
    if root is None or not all(path.is_relative_to(root) for path in paths):
        return None
    return {"kind": kind, "runs": [path.relative_to(root).as_posix() for path in paths], **settings}


def described_runs(names: object) -> list[Run]:
    """Return the runs that a description names; empty if one of them is not in the store."""
    root = latest_root()
    if root is None or not isinstance(names, list) or len(names) > MAX_RUNS:
        return []
    paths = [(root / name).resolve() for name in names if isinstance(name, str)]
    runs = [Run(path) for path in paths if root in path.parents and (path / "state.json").is_file()]
    return runs if len(runs) == len(names) else []
