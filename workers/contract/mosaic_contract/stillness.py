"""Which actions do nothing, by what they are called: for passive operators, and for arenas that act in
somebody's place."""

from __future__ import annotations

import re
from typing import Any, Sequence

# Words of a meaning that say it all, and whole meanings that come close to it.
_NOTHING = frozenset({"noop", "nop", "nothing", "none", "still", "stay", "wait", "idle"})
_ALMOST = frozenset({"noaction", "nooperation", "nopush", "notorque", "pass", "done", "stick"})


def that_do_nothing(meanings: Sequence[Any]) -> list[int]:
    """The places of the meanings that say that an action does nothing, then of those that say almost that."""
    words = [re.findall(r"[a-z]+", str(meaning).lower()) for meaning in meanings]
    whole = ["".join(parts) for parts in words]
    places = range(len(words))
    nothing = [place for place in places if _NOTHING.intersection(words[place]) or whole[place] in _NOTHING]
    return nothing + [place for place in places if whole[place] in _ALMOST and place not in nothing]
