"""Canvases that the page draws on. The only private hook into ipycanvas is here: checked on 0.14.3."""

from __future__ import annotations

from ipycanvas import Canvas

_CLIENT_READY = "_send_client_ready_event"


def page_canvas() -> Canvas:
    """Return a canvas, of one pixel at first, that only the page draws on.

    The kernel does not draw, so no view has to report that it is ready; where ipycanvas has no such switch
    the views report it, and nothing listens.
    """
    switches = {_CLIENT_READY: False} if Canvas.class_traits().get(_CLIENT_READY) else {}
    return Canvas(width=1, height=1, **switches)
