"""The widgets of a comparison in the page: the lanes with their tool bar, and the table of episodes.

They communicate by synced traits only, see `mosaic_lab.widgets.page.panel_widgets`.
The page's requests come as ``calls``: the last few, each ``[page, number, name, arguments]``, so that none of
several in one moment gets lost.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets as t
from ipycanvas import Canvas
from ipywidgets import widget_serialization

from mosaic_lab.widgets.comparison.collapsible_exchanges import ExchangesModel
from mosaic_lab.widgets.page.page_code import page_code

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 0.0)
"""Steps a second that the slider offers; 0 is as fast as possible."""


class LanesView(anywidget.AnyWidget):
    """Tool bar and lanes. ``bindings``: keys that a user has changed, {lane: {agent: {key: action}}}."""

    _esm = page_code("comparison.js")
    _css = page_code("comparison.css")

    title = t.Unicode().tag(sync=True)
    state: t.Dict[str, Any] = t.Dict().tag(sync=True)
    canvases: t.List[Any] = t.List(t.Instance(Canvas)).tag(sync=True, **widget_serialization)
    language: t.List[Any] = t.List(t.Instance(ExchangesModel), help="the exchanges of each lane").tag(
        sync=True, **widget_serialization
    )
    speeds: t.List[float] = t.List(t.Float(), list(SPEEDS)).tag(sync=True)
    speed = t.Float(10.0, help="steps a second to run at; 0: as fast as possible").tag(sync=True)
    bindings: t.Dict[str, Any] = t.Dict().tag(sync=True)
    said: t.Dict[str, Any] = t.Dict({"level": "info", "text": "", "number": 0}).tag(sync=True)
    beat = t.Int(0, help="grows at least every second while the lanes are live and in sight").tag(sync=True)
    calls: t.List[Any] = t.List().tag(sync=True, echo_update=False)
    presence: t.List[Any] = t.List().tag(sync=True, echo_update=False)


class EpisodesView(anywidget.AnyWidget):
    """The finished episodes, the newest first. ``total``: how many there are, shown or not."""

    _esm = page_code("episodes_table.js")

    rows: t.List[dict[str, Any]] = t.List(t.Dict()).tag(sync=True)
    total = t.Int(0).tag(sync=True)
