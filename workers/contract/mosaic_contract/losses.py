"""The losses that libraries have in common, so that one chart can lay their trainings over each other.

A shim names its library's own by patterns of `fnmatch`, of which the first that is met counts::

    LOSSES = {"policy_loss": ["*/actor_loss"], "value_loss": ["*/critic_loss", "*/td_loss"]}
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Mapping, Sequence

Losses = Mapping[str, Sequence[str]]


def with_losses(values: Mapping[str, float], losses: Losses) -> dict[str, float]:
    """A library's metrics, and its losses under the common names too: `policy_loss`, that of the actor, and
    `value_loss`, that of a critic or a Q-function. Where several are found, of agents, policies or twin
    critics, it is their mean; where none is, nothing is added.
    """
    named = dict(values)
    for name, patterns in losses.items():
        for pattern in patterns:
            found = [value for key, value in values.items() if fnmatchcase(key, pattern)]
            if found:
                named[name] = sum(found) / len(found)
                break
    return named
