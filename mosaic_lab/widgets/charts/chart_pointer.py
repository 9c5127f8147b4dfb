"""The values under the pointer on a chart, which the page reads from the marks that the chart draws."""

from __future__ import annotations

from typing import Any

import anywidget
import bqplot
import traitlets as t
from ipywidgets import Widget, widget_serialization

from mosaic_lab.widgets.page.page_code import page_code


class ChartPointer(anywidget.AnyWidget):
    """Shows the nearest point of each line, with its name, or where y is a category what lies in its row.

    Its place is after the figure, in the same box.
    """

    _esm = page_code("chart_pointer.js")
    _css = page_code("chart_pointer.css")

    x_scale: Any = t.Instance(Widget).tag(sync=True, **widget_serialization)
    y_scale: Any = t.Instance(Widget).tag(sync=True, **widget_serialization)
    log = t.Bool(False, help="whether the y axis is logarithmic").tag(sync=True)
    marks: t.List[Any] = t.List(t.Instance(bqplot.Mark), help="lines and points").tag(
        sync=True, **widget_serialization
    )
    labels: t.List[list[str]] = t.List(help="for each mark, the names of its lines or points").tag(sync=True)
    x_label = t.Unicode("").tag(sync=True)
    kind = t.Unicode("", help="what the values are where they are not those of the data: smoothed").tag(
        sync=True
    )
    rows: t.List[str] = t.List(t.Unicode(), help="the names of y = 0, 1, … where y is a category").tag(
        sync=True
    )
