"""Metric names: which metrics are returns, and their order in lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mosaic_lab.keeper.events import SYSTEM_PREFIX

RETURN_NAMES = ("episode_return", "charts/episodic_return", "rollout/ep_rew_mean")
"""Metrics that are a run's return, in order of preference."""
COMMON_NAMES = ("episode_return", "episode_length", "policy_loss", "value_loss", "steps_per_second")
"""Metrics that all workers report under the same name, in addition to upstream's own."""


def ordered(names: Iterable[str]) -> list[str]:
    """Return each name once: common metrics and returns first, system metrics last, all others sorted."""
    distinct = set(names)
    first = [name for name in dict.fromkeys((*COMMON_NAMES, *RETURN_NAMES)) if name in distinct]
    return first + sorted(distinct - set(first), key=lambda name: (name.startswith(SYSTEM_PREFIX), name))


def default_metric(names: Sequence[str]) -> str | None:
    """Return the first metric that is a return, otherwise the first that is not a system metric."""
    reported = [name for name in names if not name.startswith(SYSTEM_PREFIX)]
    return next((name for name in RETURN_NAMES if name in reported), reported[0] if reported else None)
