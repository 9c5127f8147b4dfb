"""Reports of the page on the outputs of panels.

A page reports the outputs that it has read from a file, which may have missed updates, and those that are
gone because their cell was executed again, cleared or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mosaic_lab.widgets.page.outputs import PanelOutput
from mosaic_lab.widgets.page.saved_form import SavedForm, form_of

MOST_REPORTED = 256
"""Panels in one report."""

Reattach = Callable[[Mapping[str, Any], PanelOutput], None]
"""Shows the panel that the metadata of a saved caption describe, in its output."""


def take_report(report: Mapping[str, Any], reattach: Reattach) -> None:
    """Take in a report of the page; it may take a while.

    ``report["gone"]``: the captions of outputs that are no longer on the page. ``report["panels"]``: the
    metadata of captions that the page has read, or still shows after a restart of the kernel; those that this
    kernel does not know go to ``reattach``.
    """
    for caption in _texts(report.get("gone")):
        if (form := form_of(caption)) is not None:
            form.remove(caption)
    published: set[SavedForm] = set()
    panels = report.get("panels")
    for panel in panels[:MOST_REPORTED] if isinstance(panels, list) else []:
        ids = _texts(panel.get("panel")) if isinstance(panel, Mapping) else []
        if len(ids) != 3:
            continue
        output = PanelOutput(*ids)
        form = form_of(output.caption)
        if form is None:
            reattach(panel, output)
        elif form not in published:
            published.add(form)
            form.publish_again()


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
