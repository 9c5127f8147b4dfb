"""The part of a panel that stays in a saved notebook: its caption with tables, and its picture.

Runs, frames, comparisons and evaluations are all saved by this one class. See ``outputs`` for how its outputs
lie in a cell.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from html import escape
from typing import Any, NamedTuple

from mosaic_lab.widgets.page.outputs import NOTHING, PanelOutput, caption, live, picture, publish
from mosaic_lab.widgets.page.panel_outputs import PanelOutputs

logger = logging.getLogger(__name__)


class Caption(NamedTuple):
    """``text`` follows the title; ``tables`` is HTML below it, whose texts are escaped already."""

    text: str = ""
    tables: str = ""


class SavedForm:
    """The widget and the static form of one panel, at every place in the notebook where it is shown.

    ``describe`` returns the caption and ``draw`` the picture as PNG (None: there is none); both are called on
    the thread that shows or updates the form, and ``draw`` may take its time. ``pictured`` is the text for
    programs that show no pictures. ``on_removed`` is called when the last place has left the page.
    ``description`` is what a later kernel makes the panel of (see ``reattaching``).

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
        """It will not change any more."""
        self.on_outputs_gone = on_removed
        self._title = title
        self._describe = describe
        self._draw = draw
        self._pictured = pictured or title
        self._places = PanelOutputs(self, description)
        self._caption = Caption()
        self._png: bytes | None = None
        self._failed = False
        self._lock = threading.Lock()
        self._drawing = threading.Lock()

    @property
    def places(self) -> Collection[PanelOutput]:
        """The places that show the panel, in the order in which they were added."""
        return tuple(self._places)

    def add(self, place: PanelOutput | None = None) -> PanelOutput:
        """Return a new place, or add the ``place`` where a former kernel has shown the panel."""
        return self._places.add(place)

    def show(self, widget: Any, place: PanelOutput, *, update: bool) -> None:
        """Show the widget at a place that was added, with what there is of a static form, without drawing.

        ``update``: a former kernel has shown the panel there, so its outputs are there already.
        """
        with self._lock:
            if not self.final:
                self._caption = self._describe()
            self._places.show(
                place,
                live(widget, self._title),
                self._caption_output(),
                self._picture_output(),
                ended=self.final,
                update=update,
            )

    def update(self, *, final: bool = False) -> None:
        """Describe and draw the panel, and display both at every place before returning.

        ``final``: it will not change any more. A picture that cannot be drawn does no other harm: that is
        logged, once, and the former picture stays.
        """
        with self._drawing:
            caption, png = self._describe(), self._drawn()
            with self._lock:
                self._caption, self._png, self.final = caption, png, final
            self.publish_again()

    def publish_again(self) -> None:
        """Display the static form at every place once more: a page may have missed it."""
        with self._lock:
            self._places.update(
                caption=self._caption_output(), picture=self._picture_output(), ended=self.final
            )

    def hide_widget(self, places: Collection[PanelOutput]) -> None:
        """Take the widget out of these places: no browser has shown it, and the static form says it all."""
        for place in places:
            publish(NOTHING, place.live, update=True)

    def wait(self) -> None:
        """Return when an update that is under way has been displayed."""
        with self._drawing:
            pass

    def _drawn(self) -> bytes | None:
        try:
            return self._draw()
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("The static picture of %s could not be drawn.", self._title)
            return self._png

    def _caption_output(self) -> dict[str, Any]:
        text, tables = self._caption
        html = f" · {escape(text)}" if text else ""
        return caption(self._title, html + tables, f"{self._title}: {text}" if text else "")

    def _picture_output(self) -> dict[str, Any]:
        return picture(self._png, self._pictured)
