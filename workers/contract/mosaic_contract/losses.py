"""Common names for the losses of libraries, so that one chart can show trainings of several.

A shim maps its library's own names by patterns of `fnmatch`; the first that matches counts::

    LOSSES = {"policy_loss": ["*/actor_loss"], "value_loss": ["*/critic_loss", "*/td_loss"]}
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Mapping, Sequence

Losses = Mapping[str, Sequence[str]]


def with_losses(values: Mapping[str, float], losses: Losses) -> dict[str, float]:
    """Return a library's metrics with its losses under the common names too: `policy_loss`, that of the
    actor, and `value_loss`, that of a critic or a Q-function; the mean of several (agents, twin critics).
    """
    named = dict(values)
    for name, patterns in losses.items():
        for pattern in patterns:
            found = [value for key, value in values.items() if fnmatchcase(key, pattern)]
            if found:
                named[name] = sum(found) / len(found)
                break
    return named
