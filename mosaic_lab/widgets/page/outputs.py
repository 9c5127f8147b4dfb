"""Outputs of a cell that remain after the kernel is gone, beside a live widget that does not.

A live output and its static form are consecutive outputs, each with a display id: the widget, a caption
(HTML), a picture. A live page hides the last two while it shows the widget (``panel.css``). A page without
the widget shows them, and the caption's own style hides the widget's error message.

An output's metadata contain its display id, for which the notebook format has no field. The page uses it to
find the output that a message updates, including outputs read from a file
(``js/src/extension/saved-outputs.ts``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any
from uuid import uuid4

from IPython.display import publish_display_data

_STYLE = (
    "<style>.jp-OutputArea-child:has(> .jupyter-widgets):has(+ .jp-OutputArea-child .mosaic-saved)"
    ":not(:has(.mosaic-panel, .mosaic-workspace-cell)){display:none}</style>"
)
METADATA = "mosaic_lab"
"""The key of our entry in an output's metadata."""

Bundle = dict[str, Any]
NOTHING: Bundle = {"text/html": "", "text/plain": ""}


def new_id() -> str:
    """Return a new unique display id."""
    return uuid4().hex


@dataclass(frozen=True)
class PanelOutput:
    """A place in a notebook that shows a panel: the display ids of its three outputs."""

    live: str = field(default_factory=new_id)
    caption: str = field(default_factory=new_id)
    picture: str = field(default_factory=new_id)


def publish(bundle: Bundle, output: str, about: Bundle | None = None, *, update: bool) -> None:
    """Publish a bundle as an output of the running cell, or ``update`` the output with that display id.

    ``about`` is added to our metadata of the output.
    """
    publish_display_data(
        bundle,
        metadata={METADATA: {"output": output, **(about or {})}},
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
