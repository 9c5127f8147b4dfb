"""The algorithms by the names that a configuration may give, and upstream's script of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Algorithm:
    """One algorithm. `action` is the kind of action space it needs, `script` the module `cleanrl.<script>`.

    An on-policy script counts the steps of all its environments and learns once a rollout; the others count
    one step for all environments together and may learn at each.

    `also_bound` are further hyperparameters that a resumed training cannot change, each with the reason.
    """

    name: str
    script: str
    action: str
    on_policy: bool = False
    also_bound: Mapping[str, str] = field(default_factory=dict)

    @property
    def bound(self) -> dict[str, str]:
        """All hyperparameters that a resumed training cannot change."""
        return {**_COUNTED_BY, **self.also_bound}


_COUNTED_BY = dict.fromkeys(
    ("num_envs", "num_steps"), "it says what a step and a rollout are, which the checkpoint's step counts"
)
_ATOMS = dict.fromkeys(("n_atoms", "v_min", "v_max"), "the outputs of the network stand for these atoms")
_TEMPERATURE = dict.fromkeys(("alpha", "autotune"), "the temperature is a part of the checkpoint")

ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("ppo", "ppo", "discrete", on_policy=True),
        Algorithm("ppo_continuous", "ppo_continuous_action", "continuous", on_policy=True),
        Algorithm("dqn", "dqn", "discrete"),
        Algorithm("c51", "c51", "discrete", also_bound=_ATOMS),
        Algorithm("ddpg", "ddpg_continuous_action", "continuous"),
        Algorithm("td3", "td3_continuous_action", "continuous"),
        Algorithm("sac", "sac_continuous_action", "continuous", also_bound=_TEMPERATURE),
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
