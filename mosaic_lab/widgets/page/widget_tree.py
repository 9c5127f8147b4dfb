"""Operations on widgets and all widgets that they contain.

ipywidgets keeps every widget, with its comm and its state, until it is closed. Closing a widget does not
close its children, its layout, or a chart's marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ipywidgets import Widget

from mosaic_lab.widgets.page.kernel import stay_on_subshell


def all_widgets(widgets: Iterable[Widget]) -> list[Widget]:
    """Return these widgets and all widgets that they contain."""
    by_id: dict[int, Widget] = {}
    remaining = list(widgets)
    while remaining:
        widget = remaining.pop()
        if id(widget) not in by_id:
            by_id[id(widget)] = widget
            # A leading underscore marks the libraries' own widgets, such as the shared manager of all
            # canvases.
            names = [name for name in widget.keys if not name.startswith("_")]
            remaining += _widgets_in([getattr(widget, name) for name in names])
    return list(by_id.values())


def widgets_stay_on_subshell(*widgets: Widget) -> None:
    """Handle the page's messages to these widgets, and to all widgets that they contain, while a cell
    runs."""
    stay_on_subshell(*(widget.comm for widget in all_widgets(widgets)))


def close_widgets(widgets: Iterable[Widget]) -> None:
    """Close these widgets and all widgets that they contain; the page removes their views."""
    for widget in all_widgets(widgets):
        widget.close()


def _widgets_in(value: Any) -> list[Widget]:
    if isinstance(value, Widget):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [widget for part in value for widget in _widgets_in(part)] if isinstance(value, list | tuple) else []
    )
