"""Keys that a player presses before an action is awaited: they are kept for the next turns, or refused."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

EARLY_SECONDS = 1.0
"""Seconds for which a key stays valid if it is pressed before its player's turn."""
REFUSAL_SECONDS = 4.0
"""Seconds for which the page shows that a key was refused."""
MAX_PENDING = 3
"""Maximum number of keys that are kept; further ones are refused."""


class EarlyKey(NamedTuple):
    """A key with the action that it stands for, and when it was pressed."""

    pressed_at: float
    action: Any
    name: str


class EarlyKeys:
    """The early keys of one player, with a notice about each, so that none is lost silently."""

    def __init__(self) -> None:
        self._pending: deque[EarlyKey] = deque()
        self._refused: tuple[list[EarlyKey], str] | None = None
        self._overtaken = False  # whether the player's turn makes the refusal obsolete

    def press(self, action: Any, name: str, refusal: str) -> None:
        """Keep a key for a turn, or refuse it for this reason if there is one."""
        key = EarlyKey(time.monotonic(), action, name)
        if refusal:
            self._refused, self._overtaken = ([key], refusal), True
        elif len(self._pending) < MAX_PENDING:
            self._pending.append(key)
        else:
            self._refused, self._overtaken = ([key], f"{MAX_PENDING} keys are kept already"), False

    def next(self, awaited: bool) -> EarlyKey | None:
        """Return the first kept key, if there is one and an action is awaited now, else None. Keys that have
        waited too long are refused."""
        key = self._pending.popleft() if awaited and self._pending else None
        if awaited and self._overtaken:
            self._refused = None
        now = time.monotonic()
        reason = f"your turn did not come within {EARLY_SECONDS:g} s"
        while self._pending and now - self._pending[0].pressed_at > EARLY_SECONDS:
            refused = self._refused[0] if self._refused is not None and self._refused[1] == reason else []
            self._refused = [*refused[-MAX_PENDING:], self._pending.popleft()], reason
            self._overtaken = False
        if self._refused is not None and now - self._refused[0][-1].pressed_at > REFUSAL_SECONDS:
            self._refused = None
        return key

    @property
    def text(self) -> str:
        """The notice about the keys; empty if there are none."""
        pending = ", ".join(key.name for key in self._pending)
        refused = ""
        if self._refused is not None:
            refused = f"{', '.join(key.name for key in self._refused[0])} refused: {self._refused[1]}"
        return "; ".join(filter(None, (refused, pending and f"{pending} kept for your turn")))
