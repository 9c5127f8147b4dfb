"""Reasons of runs on a cluster that does not answer."""

from __future__ import annotations

import time

from mosaic_lab.engines.engine import NoHead, Unreachable

NODES_LEAVE = 60.0
"""Seconds after which the nodes of a Ray cluster without its head leave, and end what runs there."""


class Silence:
    """The time in which the cluster called ``name`` does not answer."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._since: float | None = None
        self._headless: float | None = None
        self._why = ""

    def end(self) -> None:
        """Take in that it has answered."""
        self._since = self._headless = None

    @property
    def headless(self) -> float:
        """The seconds for which nothing has listened at its head; 0 where the head may live."""
        return 0.0 if self._headless is None else time.time() - self._headless

    def reason(self, error: Unreachable) -> str:
        """Return the reason of a run's state; it changes at most once in a silence."""
        now = time.time()
        if self._since is None:
            self._since, self._why = now, str(error)
        self._headless = (self._headless or now) if isinstance(error, NoHead) else None
        text = f"{self._name} has not answered since {time.strftime('%H:%M:%S', time.localtime(self._since))}"
        if self._headless is None or now - self._headless <= NODES_LEAVE:
            return f"{text} ({self._why}); what runs there continues"
        return (
            f"{text} ({error}): if its head was lost, its nodes have left after {NODES_LEAVE:.0f} s and "
            "ended this run, which fails, or begins again with restarts=, when a head answers there"
        )
