"""The parts of a panel in the page: header, controls, table, footer.

Every request of the page is a change of a synced trait, never a custom message: state updates are handled
while a cell runs, on every supported ipykernel. Actions (Stop, reset, save) are counters that the page
increments.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets as t

from mosaic_lab.widgets.page.page_code import page_code

X_AXES = ("step", "episode", "time")
MAX_METRICS = 8
"""Maximum number of metrics in one chart."""


class Header(anywidget.AnyWidget):
    """Title, state, progress, numbers, Stop, Resume. ``presence``: the page's visibility reports."""

    _esm = page_code("header.js")
    _css = page_code("header.css")

    summary: t.Dict[str, Any] = t.Dict().tag(sync=True)
    beat = t.Int(0, help="grows at least every second while a run is live and the panel visible").tag(
        sync=True
    )
    stops = t.Int(0).tag(sync=True)
    resumable = t.Bool(False, help="a new run can continue the ended one").tag(sync=True)
    resumes = t.Int(0).tag(sync=True)
    continued = t.Unicode("", help="the id of the newest run that continues this one").tag(sync=True)
    presence: t.List[Any] = t.List().tag(sync=True, echo_update=False)


class Controls(anywidget.AnyWidget):
    """The controls of a chart, and its legend."""

    _esm = page_code("controls.js")

    names: t.List[str] = t.List(t.Unicode()).tag(sync=True)
    common: t.List[str] = t.List(t.Unicode(), help="names that all workers share").tag(sync=True)
    chosen: t.List[str] = t.List(t.Unicode(), maxlen=MAX_METRICS).tag(sync=True)
    several = t.Bool(True, help="more than one metric may be chosen").tag(sync=True)
    most = t.Int(MAX_METRICS).tag(sync=True)
    x = t.Enum(X_AXES, "step").tag(sync=True)
    smoothing = t.Float(0.0, min=0.0, max=0.99).tag(sync=True)
    log_axis = t.Bool(False).tag(sync=True)
    low = t.Float(None, allow_none=True, help="lower limit of the y axis; None: the data's").tag(sync=True)
    high = t.Float(None, allow_none=True, help="its upper limit").tag(sync=True)
    interval = t.Bool(False, help="the mean with its interval, not a line per run").tag(sync=True)
    panning = t.Bool(False).tag(sync=True)
    hidden: t.List[str] = t.List(t.Unicode(), maxlen=256).tag(sync=True)
    legend: t.List[dict[str, str]] = t.List(t.Dict()).tag(sync=True)
    waiting = t.Unicode("", help="the text in place of a chart's lines, if it has none").tag(sync=True)
    resets = t.Int(0).tag(sync=True)
    pngs = t.Int(0).tag(sync=True)
    csvs = t.Int(0).tag(sync=True)
    download: t.Dict[str, Any] = t.Dict({"name": "", "data": ""}).tag(sync=True)


class Table(anywidget.AnyWidget):
    """A table of texts, hidden while it has no rows.

    ``table``: {"columns": [{"title", "numeric"}], "rows": [[{"text", "color", "hint", "key", "choose"}]],
    "caption", "sortable"}. The user sorts a sortable table by the ``key`` of its cells, None last. A row
    whose first cell has a value ``choose`` can be clicked, which sends that value as the id of ``chosen``.
    """

    _esm = page_code("table.js")

    table: t.Dict[str, Any] = t.Dict().tag(sync=True)
    chosen: t.Dict[str, Any] = t.Dict({}, help="{id, number}: the row clicked last").tag(sync=True)


class Footer(anywidget.AnyWidget):
    """Notices and the log. A collapsed log shows only its last line."""

    _esm = page_code("footer.js")

    notices: t.List[dict[str, str]] = t.List(t.Dict()).tag(sync=True)
    lines: t.List[str] = t.List(t.Unicode()).tag(sync=True)
    has_log = t.Bool(True).tag(sync=True)
    opened = t.Bool(False, help="the log is expanded").tag(sync=True)
