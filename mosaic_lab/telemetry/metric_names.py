"""Names of metrics: which are the return, and in which order they are offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mosaic_lab.keeper.events import SYSTEM_PREFIX

RETURN_NAMES = ("episode_return", "charts/episodic_return", "rollout/ep_rew_mean")
"""Metrics that are a run's return, best first."""
COMMON_NAMES = ("episode_return", "episode_length", "policy_loss", "value_loss", "steps_per_second")
"""Metrics that every worker reports under one name, beside upstream's own."""


def ordered(names: Iterable[str]) -> list[str]:
    """Return each name once: the common ones and the returns first, the system's last, all others sorted."""
    known = set(names)
    first = [name for name in dict.fromkeys((*COMMON_NAMES, *RETURN_NAMES)) if name in known]
    return first + sorted(known - set(first), key=lambda name: (name.startswith(SYSTEM_PREFIX), name))


def default_metric(names: Sequence[str]) -> str | None:
    """Return the metric of the return where there is one, else the first that is not the machine's load."""
    own = [name for name in names if not name.startswith(SYSTEM_PREFIX)]
    return next((name for name in RETURN_NAMES if name in own), own[0] if own else None)
