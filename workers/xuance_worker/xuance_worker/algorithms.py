"""The algorithms: what upstream calls them, which of its files configures them, and what they can act with.

Nothing of upstream is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

DISCRETE, CONTINUOUS = "discrete", "continuous"

_TEAM = "mpe/simple_spread_v3.yaml"
_CART, _PENDULUM = "classic_control/CartPole-v1.yaml", "classic_control/Pendulum-v1.yaml"
_ACTOR_CRITIC = {DISCRETE: "Categorical_MAAC_Policy", CONTINUOUS: "Gaussian_MAAC_Policy"}


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    `file` is upstream's configuration of it, below `xuance/configs/<name>`. `policies` are upstream's names
    of the policy for each kind of actions that it can act with. `several`: trains several agents at once.
    """

    name: str
    file: str
    policies: Mapping[str, str]
    several: bool
    on_policy: bool

    @property
    def actions(self) -> str:
        """The kinds of its actions, in words."""
        return " or ".join(self.policies)

    def learner(self, kind: str, configured: str) -> str:
        """Upstream's name of the learner for a kind of actions; `configured` is the one in its file."""
        return "SACDIS_Learner" if (self.name, kind) == ("sac", DISCRETE) else configured


ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("mappo", _TEAM, _ACTOR_CRITIC, several=True, on_policy=True),
        Algorithm("ippo", _TEAM, _ACTOR_CRITIC, several=True, on_policy=True),
        Algorithm("coma", _TEAM, {DISCRETE: "Categorical_COMA_Policy"}, several=True, on_policy=True),
        Algorithm("qmix", _TEAM, {DISCRETE: "Mixing_Q_network"}, several=True, on_policy=False),
        Algorithm("vdn", _TEAM, {DISCRETE: "Mixing_Q_network"}, several=True, on_policy=False),
        Algorithm("iql", _TEAM, {DISCRETE: "Basic_Q_network_marl"}, several=True, on_policy=False),
        Algorithm("maddpg", _TEAM, {CONTINUOUS: "MADDPG_Policy"}, several=True, on_policy=False),
        Algorithm(
            "ppo",
            _PENDULUM,
            {DISCRETE: "Categorical_AC", CONTINUOUS: "Gaussian_AC"},
            several=False,
            on_policy=True,
        ),
        Algorithm("dqn", _CART, {DISCRETE: "Basic_Q_network"}, several=False, on_policy=False),
        Algorithm(
            "sac",
            _PENDULUM,
            {DISCRETE: "Categorical_SAC", CONTINUOUS: "Gaussian_SAC"},
            several=False,
            on_policy=False,
        ),
    )
}
