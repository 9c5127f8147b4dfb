"""The outputs of a notebook in which panels are shown, and what the page reports of them.

A page reports the outputs that it has read from a file, which may have missed updates, and those that are
gone because their cell was executed again, cleared or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.outputs import Bundle, PanelOutput, publish

MOST_OUTPUTS = 16
"""In which the same panel is kept up to date; those shown first stay as they are."""

MOST_REPORTED = 256
"""Panels in one report."""

Reattach = Callable[[Mapping[str, Any], PanelOutput], None]
"""Shows the panel that the metadata of a saved caption describe, in its output."""


class OutputOwner(Protocol):
    """What is shown in `PanelOutputs`."""

    def publish_again(self) -> None:
        """Publish the static form once more: a page may have missed it."""

    def on_outputs_gone(self) -> None:
        """Called when the last output is no longer on the page."""


class PanelOutputs:
    """The outputs that show one panel.

    ``shows`` describes the panel to a later kernel (see `saved_panels`); None for one that ends with its own.
    """

    def __init__(self, owner: OutputOwner, shows: Mapping[str, Any] | None = None) -> None:
        self.owner = owner
        self._shows = shows
        self._outputs: list[PanelOutput] = []

    def __len__(self) -> int:
        return len(self._outputs)

    def __iter__(self) -> Iterator[PanelOutput]:
        return iter(self._outputs)

    def add(self, output: PanelOutput | None = None) -> PanelOutput:
        """Add an output, that of a former kernel or a new one, and return it."""
        output = output or PanelOutput()
        self._outputs = [*self._outputs, output][-MOST_OUTPUTS:]
        _known[output.caption] = self
        return output

    def show(
        self,
        output: PanelOutput,
        live: Bundle,
        caption: Bundle,
        picture: Bundle,
        *,
        ended: bool,
        update: bool,
    ) -> None:
        """Show the panel in ``output``; ``update``: it is on the page already."""
        publish(live, output.live, update=update)
        publish(caption, output.caption, self._about(output, ended), update=update)
        publish(picture, output.picture, update=update)

    def update(
        self,
        *,
        live: Bundle | None = None,
        caption: Bundle | None = None,
        picture: Bundle | None = None,
        ended: bool = False,
    ) -> None:
        """Replace parts of every output. ``ended``: the static form will not change any more."""
        for output in self._outputs:
            if live is not None:
                publish(live, output.live, update=True)
            if caption is not None:
                publish(caption, output.caption, self._about(output, ended), update=True)
            if picture is not None:
                publish(picture, output.picture, update=True)

    def remove(self, caption: str) -> None:
        """Forget the output with this caption: it is no longer on the page."""
        before = self._outputs
        self._outputs = [output for output in before if output.caption != caption]
        if before and not self._outputs:
            self.owner.on_outputs_gone()

    def _about(self, output: PanelOutput, ended: bool) -> dict[str, Any]:
        shows = {} if self._shows is None else {"shows": self._shows, "ended": ended}
        return {"panel": [output.live, output.caption, output.picture], **shows}


_known: WeakValueDictionary[str, PanelOutputs] = WeakValueDictionary()
"""By the display ids of captions."""


def take_report(report: Mapping[str, Any], reattach: Reattach) -> None:
    """Take in a report of the page, in the background: it may take a while.

    ``report["gone"]``: the captions of outputs that are no longer on the page. ``report["panels"]``: the
    metadata of captions that the page has read, or still shows after a restart of the kernel; those that this
    kernel does not know go to ``reattach``.
    """
    in_background(partial(_take_report, report, reattach))


def _take_report(report: Mapping[str, Any], reattach: Reattach) -> None:
    for caption in _texts(report.get("gone")):
        if (outputs := _known.get(caption)) is not None:
            outputs.remove(caption)
    published: set[int] = set()
    panels = report.get("panels")
    for panel in panels[:MOST_REPORTED] if isinstance(panels, list) else []:
        ids = _texts(panel.get("panel")) if isinstance(panel, Mapping) else []
        if len(ids) != 3:
            continue
        output = PanelOutput(*ids)
        outputs = _known.get(output.caption)
        if outputs is None:
            reattach(panel, output)
        elif id(outputs) not in published:
            published.add(id(outputs))
            outputs.owner.publish_again()


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
