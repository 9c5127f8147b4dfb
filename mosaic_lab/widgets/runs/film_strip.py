"""The films of a run's checkpoints within its panel, initially collapsed.

While collapsed, the strip is one line and reads nothing. When expanded, the page receives the first frames of
the newest films. A film itself is sent only on request, and only the latest request is answered.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets as t
from ipywidgets import VBox, Widget, widget_serialization

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Run
from mosaic_lab.runs.films import TYPE, Film, Films
from mosaic_lab.widgets.frames.collapsible import Collapsible
from mosaic_lab.widgets.page.live_panel import refresh_scheduler
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell
from mosaic_lab.widgets.runs.run_view import RunView, film_positions

MAX_FILMS = 100
"""Maximum number of films in a strip, which shows the newest."""
REFRESH_SECONDS = 2.0


class FilmStrip(anywidget.AnyWidget):
    """First frames in a row; the selected film plays. A click on the chart selects the nearest film."""

    _esm = page_code("film_strip.js")
    _css = page_code("film_strip.css")

    films: t.List[dict[str, Any]] = t.List(help="see `Film`; with its first frame").tag(sync=True)
    note = t.Unicode("").tag(sync=True)
    wanted: t.Dict[str, Any] = t.Dict({}, help="{step, number}: what the page requests").tag(sync=True)
    film: t.Dict[str, Any] = t.Dict({}, help="{step, number, type, data, error}").tag(sync=True)
    x_scale: Any = t.Instance(Widget, allow_none=True).tag(sync=True, **widget_serialization)
    places: t.List[Any] = t.List(help="the x of each film on the chart; None: it has none").tag(sync=True)


class CollapsibleFilms:
    """The films of the run; ``x_scale`` is the scale of the chart above, ``widgets`` belong below it."""

    def __init__(self, view: RunView, x_scale: Widget) -> None:
        self.head = Collapsible(title="Films")
        self._content = VBox([])
        self._view = view
        self._x_scale = x_scale
        self._axis = "step"
        self._strip: FilmStrip | None = None
        self._frames: dict[int, bytes] = {}
        widgets_stay_on_subshell(*self.widgets)

    @property
    def widgets(self) -> list[Widget]:
        return [self.head, self._content]

    def expand(self, on: bool) -> None:
        """Expand the strip and follow the films while more may be made, or collapse it."""
        if on and self._strip is None:
            self._strip = FilmStrip(x_scale=self._x_scale)
            self._strip.observe(self._deliver, names="wanted")
            widgets_stay_on_subshell(self._strip)
        if on:
            refresh_scheduler().add(self)
        else:
            refresh_scheduler().remove(self)
        self._content.children = [self._strip] if on else []

    def follow_axis(self, x: str) -> None:
        """Update the positions after a change of the chart's x axis."""
        self._axis = x
        if self._strip is not None:
            self._send_positions(self._strip)

    def close(self) -> None:
        """Close the widgets."""
        refresh_scheduler().remove(self)
        close_widgets([*self.widgets, *([self._strip] if self._strip is not None else [])])

    # ------------------------------------------------------------------ on the refresh scheduler's thread

    def interval(self) -> float:
        return REFRESH_SECONDS

    def refresh(self, *, draw: bool) -> None:
        """Send changes."""
        strip = self._strip
        if not draw or strip is None:
            return
        films = self._view.run.films
        film_entries = [self._described(film) for film in films[-MAX_FILMS:] if self._frame(film)]
        if [film["step"] for film in film_entries] != [film["step"] for film in strip.films]:
            strip.films = film_entries
        self._send_positions(strip)
        strip.note = _note(films)

    def _send_positions(self, strip: FilmStrip) -> None:
        """Send the positions of the films on the chart, whose unit of time grows with the run."""
        steps = [film["step"] for film in strip.films]
        strip.places = film_positions(self._view, steps, self._axis)

    def _described(self, film: Film) -> dict[str, Any]:
        return {**film.facts, "frame": self._frames[film.step]}

    def _frame(self, film: Film) -> bool:
        """Return whether the first frame of a film could be read; the result is remembered."""
        if film.step not in self._frames:
            try:
                self._frames[film.step] = film.first_frame
            except MosaicError:
                return False
        return True

    # ------------------------------------------------------------------ requests of the page

    def _deliver(self, change: dict[str, Any]) -> None:
        """Send the requested film in place of the previous one."""
        request, strip = change["new"], self._strip
        if strip is None:
            return
        answer = {"step": request.get("step"), "number": request.get("number"), "type": TYPE}
        try:
            strip.film = {**answer, "data": self._view.run.films.at(int(request["step"])).read(), "error": ""}
        except (MosaicError, KeyError, TypeError, ValueError) as error:
            strip.film = {**answer, "data": b"", "error": str(error)}


def has_films(run: Run) -> bool:
    """Return whether a run has films or a run that makes them."""
    return run.films_requested or bool(run.films)


def _note(films: Films) -> str:
    no_films = "" if films or films.status else "no films"
    return "; ".join(filter(None, [no_films, films.missing_text, films.status]))
