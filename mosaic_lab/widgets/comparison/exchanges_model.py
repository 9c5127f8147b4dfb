"""The exchanges with language models in the last step of a lane, on its card.

The card receives them while a view has them expanded and while a model is writing. The page acknowledges each
update after drawing it. Until then nothing more is sent, and newer updates replace waiting ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import traitlets as t
from ipywidgets import Widget

from mosaic_lab.overview.exchange_view import shown_exchanges, thumbnail

COLLAPSED_LENGTH, EXPANDED_LENGTH = 400, 20_000
"""Maximum length of a partial answer, of which the last characters are shown: on a collapsed and on an
expanded card."""
MAX_WRITERS = 4
LOST_SECONDS = 2.0
"""Seconds after which a missing acknowledgement counts as lost."""


class ExchangesModel(Widget):
    """The exchanges of one lane. The model has no view: the lane's card draws them."""

    opened = t.Bool(False, help="a viewer has them expanded").tag(sync=True)
    agent = t.Unicode(help="whose exchanges are shown").tag(sync=True)
    shown: t.Dict[str, Any] = t.Dict(help="see `shown_exchanges`; empty while collapsed").tag(sync=True)
    writing: t.List[Any] = t.List(help="[agent, the end of what its model has written]").tag(sync=True)
    number = t.Int(0, help="grows with every update").tag(sync=True)
    drawn = t.Int(0, help="the update that the page has drawn").tag(sync=True, echo_update=False)


class CollapsibleExchanges:
    """Keeps the exchanges model of one lane up to date."""

    def __init__(self) -> None:
        self.model = ExchangesModel()
        self._stamp: object = None
        self._sent_at = -math.inf

    def draw(self, lane: Mapping[str, Any]) -> None:
        """Send changes, unless the page has not yet drawn the previous update."""
        model = self.model
        waits = model.drawn < model.number and time.monotonic() - self._sent_at < LOST_SECONDS
        if waits:
            return
        writing = _writing(lane["partial"], EXPANDED_LENGTH if model.opened else COLLAPSED_LENGTH)
        stamp = (lane["folder"], lane["episode"], lane["step"], model.agent) if model.opened else None
        if stamp == self._stamp and writing == model.writing:
            return
        with model.hold_sync():
            if stamp != self._stamp:
                self._stamp = stamp
                model.shown = self._exchanges(lane) if model.opened else {}
            model.writing = writing
            model.number += 1
        self._sent_at = time.monotonic()

    def _exchanges(self, lane: Mapping[str, Any]) -> dict[str, Any]:
        images = Path(lane["folder"]).parent / "exchanges" / "images"
        return shown_exchanges(lane, self.model.agent, partial(thumbnail, images))


def _writing(partial: Mapping[str, str], max_length: int) -> list[list[str]]:
    return [[agent, text[-max_length:]] for agent, text in list(partial.items())[:MAX_WRITERS]]
