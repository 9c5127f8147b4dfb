"""The dialog of an episode: observations, answers and reasoning, and the resulting turns.

As in BALROG, observations are user turns and actions assistant turns; for the latest actions, the reasoning
replaces the action.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Callable

from mosaic_contract.language.balrog import CURRENT, EARLIER
from mosaic_contract.language.exchange import Turn

PLAN = "My plan was:"
WITH_IMAGE = "(The attached image shows it.)"


@dataclass(frozen=True)
class HistoryLimits:
    """Numbers of latest observations that keep their text and image, and of actions that keep reasoning."""

    text: int = 16
    image: int = 0
    reasoning: int = 1


@dataclass(frozen=True)
class _Observation:
    text: str
    image: bytes | None


@dataclass(frozen=True)
class _Action:
    text: str
    reasoning: str | None


class History:
    """The events of one episode, within the limits. Older events are dropped, an observation together with
    the action that followed it.
    """

    def __init__(self, limits: HistoryLimits) -> None:
        self._limits = limits
        self._events: deque[_Observation | _Action] = deque(maxlen=2 * max(limits.text, limits.image, 1))
        self._short_term = ""
        self._reasoning: str | None = None

    def observe(self, long_term: str, short_term: str = "", image: bytes | None = None) -> None:
        """Add an observation.

        Its short-term part is shown only while it is the latest; ``image`` is a PNG file.
        """
        self._events.append(_Observation(long_term, image))
        self._short_term = short_term

    def act(self, action: str | None) -> None:
        """Add the agent's action with its latest reasoning. An answer without an action adds nothing."""
        if action:
            self._events.append(_Action(action, self._reasoning))

    def reason(self, text: str) -> None:
        """Store the reasoning for the next action."""
        self._reasoning = text

    def turns(self) -> list[Turn]:
        """Return the turns of the dialog so far; the last one is the current observation."""
        events, limits = list(self._events), self._limits
        texts = _latest(events, limits.text, lambda event: isinstance(event, _Observation))
        images = _latest(events, limits.image, lambda event: getattr(event, "image", None) is not None)
        reasons = _latest(
            events, limits.reasoning, lambda event: getattr(event, "reasoning", None) is not None
        )
        turns = []
        for index, event in enumerate(events):
            if isinstance(event, _Action):
                text = f"{PLAN}\n{event.reasoning}" if index in reasons else event.text
                turns.append(Turn("assistant", text))
            else:
                current = index == len(events) - 1
                parts = [CURRENT if current else EARLIER]
                parts += [self._short_term] if current and self._short_term else []
                parts += [event.text] if index in texts else []
                parts += [WITH_IMAGE] if index in images else []
                turns.append(
                    Turn("user", "\n".join(parts), [event.image] if event.image and index in images else ())
                )
        return turns


def _latest(events: list[Any], count: int, counts: Callable[[Any], bool]) -> set[int]:
    """Return the indices of the last `count` events for which ``counts`` is true."""
    indices = [index for index, event in enumerate(events) if counts(event)]
    return set(indices[max(0, len(indices) - count) :])
