"""The algorithms by the names that a configuration may give, and upstream's script of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Algorithm:
    """One algorithm. `action` is the kind of action space it needs, `script` the module `cleanrl.<script>`.

    An on-policy script counts the steps of all its environments and learns once a rollout; the others count
    one step for all environments together and may learn at each.
    """

    name: str
    script: str
    action: str
    on_policy: bool = False


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("ppo", "ppo", "discrete", on_policy=True),
        Algorithm("ppo_continuous", "ppo_continuous_action", "continuous", on_policy=True),
        Algorithm("dqn", "dqn", "discrete"),
        Algorithm("c51", "c51", "discrete"),
        Algorithm("ddpg", "ddpg_continuous_action", "continuous"),
        Algorithm("td3", "td3_continuous_action", "continuous"),
        Algorithm("sac", "sac_continuous_action", "continuous"),
    )
}

BROKEN_IN_RELEASE = {
    "ddpg": "the script of the release 0.4.8 creates its actor without the argument it needs "
    "(`Actor()` where `Actor(env)` is meant) and ends before it trains"
}
"""Why an algorithm is not available with the release in the registry."""


def find_algorithm(name: str) -> Algorithm | None:
    """Return an algorithm by its name or that of upstream's script, ignoring case; None if there is none."""
    wanted = name.strip().lower().replace("-", "_")
    for algorithm in ALGORITHMS.values():
        if wanted in (algorithm.name, algorithm.script):
            return algorithm
    return None
