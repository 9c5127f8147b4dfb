"""Outputs of a cell that stay when the kernel is gone, beside a live widget that does not.

What crosses this boundary: display messages out. A live output and its static form are outputs in a row, each
with a display id: the widget, then a caption (HTML), then a picture. A live page hides the last two while the
widget is there (``panel.css``); a page without the widget shows them, and the caption's own style then hides
the widget's error message.
"""

from __future__ import annotations

from html import escape
from typing import Any
from uuid import uuid4

from IPython.display import publish_display_data

_STYLE = (
    "<style>.jp-OutputArea-child:has(> .jupyter-widgets):has(+ .jp-OutputArea-child .mosaic-still)"
    ":not(:has(.mosaic-panel)){display:none}</style>"
)

Bundle = dict[str, Any]
NOTHING: Bundle = {"text/html": "", "text/plain": ""}


def display(bundle: Bundle, place: str | None = None) -> str:
    """Show a bundle as an output of the running cell, or at a ``place`` made before. Returns the place."""
    name = place or uuid4().hex
    publish_display_data(bundle, transient={"display_id": name}, update=place is not None)
    return name


def live(widget: Any, title: str) -> Bundle:
    """The widget itself."""
    view = widget._repr_mimebundle_()
    data = view[0] if isinstance(view, tuple) else view  # an anywidget adds metadata
    # Converters that cannot show a widget fall back to this nothing: the static form follows.
    return {**data, **NOTHING, "text/plain": title}


def caption(title: str, html: str, text: str = "") -> Bundle:
    """The head of the static form; ``text`` is what programs say that show no HTML."""
    return {
        "text/html": f'{_STYLE}<div class="mosaic-still"><b>{escape(title)}</b>{html}</div>',
        "text/plain": text or title,
    }


def picture(png: bytes | None, text: str) -> Bundle:
    """The picture of the static form; None: there is none."""
    return {"image/png": png, "text/plain": text} if png else NOTHING
