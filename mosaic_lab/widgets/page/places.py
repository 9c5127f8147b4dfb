"""The places in the notebook where panels are shown, and what the page reports of them.

What crosses this boundary: display messages out (see ``outputs``), the page's reports in (`hear`). A page
reports the places that it has read from a file, which may have missed updates, and those that are gone
because their cell was executed again, cleared or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from mosaic_lab.widgets.page.aside import aside
from mosaic_lab.widgets.page.outputs import Bundle, Place, publish

MOST_PLACES = 16
"""That show the same panel; those shown first stay as they are."""

MOST_REPORTED = 256
"""Panels in one report."""


class Owner(Protocol):
    """Whose places they are."""

    def refresh(self) -> None:
        """Display the static form once more: a page may have missed it."""

    def unshown(self) -> None:
        """No place is left on the page."""


class Places:
    """The places that show one panel. ``shows``: what a later kernel makes it of (see ``reattaching``)."""

    def __init__(self, owner: Owner, shows: Mapping[str, Any] | None = None) -> None:
        self.owner = owner
        self._shows = shows
        self._places: list[Place] = []

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places)

    def add(self, place: Place | None = None) -> Place:
        """Count one more place, that of a former kernel or a new one."""
        place = place or Place()
        self._places = [*self._places, place][-MOST_PLACES:]
        _known[place.caption] = self
        return place

    def show(
        self, place: Place, live: Bundle, caption: Bundle, picture: Bundle, *, ended: bool, update: bool
    ) -> None:
        """Show the panel at ``place``; ``update``: its outputs are there already."""
        publish(live, place.live, update=update)
        publish(caption, place.caption, self._about(place, ended), update=update)
        publish(picture, place.picture, update=update)

    def update(
        self,
        *,
        live: Bundle | None = None,
        caption: Bundle | None = None,
        picture: Bundle | None = None,
        ended: bool = False,
    ) -> None:
        """Replace outputs at every place. ``ended``: the static form will not change any more."""
        for place in self._places:
            if live is not None:
                publish(live, place.live, update=True)
            if caption is not None:
                publish(caption, place.caption, self._about(place, ended), update=True)
            if picture is not None:
                publish(picture, place.picture, update=True)

    def remove(self, caption: str) -> None:
        """Forget the place with this caption: it is no longer on the page."""
        before = self._places
        self._places = [place for place in before if place.caption != caption]
        if before and not self._places:
            self.owner.unshown()

    def _about(self, place: Place, ended: bool) -> dict[str, Any]:
        if self._shows is None:
            return {"panel": [place.live, place.caption, place.picture]}
        shows = {"shows": self._shows, "ended": ended}
        return {"panel": [place.live, place.caption, place.picture], **shows}


_known: WeakValueDictionary[str, Places] = WeakValueDictionary()
"""By the display ids of captions."""


def hear(report: Mapping[str, Any], reattach: Callable[[Mapping[str, Any], Place], None]) -> None:
    """Take in a report of the page, aside: it may take a while.

    ``report["gone"]``: the captions of places that are no longer on the page. ``report["panels"]``: the
    metadata of captions that the page has read, or still shows after a restart of the kernel; those that this
    kernel does not know go to ``reattach``.
    """
    aside(partial(_hear, report, reattach))


def _hear(report: Mapping[str, Any], reattach: Callable[[Mapping[str, Any], Place], None]) -> None:
    for caption in _texts(report.get("gone")):
        if (places := _known.get(caption)) is not None:
            places.remove(caption)
    refreshed: set[int] = set()
    panels = report.get("panels")
    for panel in panels[:MOST_REPORTED] if isinstance(panels, list) else []:
        names = list(_texts(panel.get("panel"))) if isinstance(panel, Mapping) else []
        if len(names) != 3:
            continue
        place = Place(*names)
        places = _known.get(place.caption)
        if places is None:
            reattach(panel, place)
        elif id(places) not in refreshed:
            refreshed.add(id(places))
            places.owner.refresh()


def _texts(values: object) -> Iterable[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
