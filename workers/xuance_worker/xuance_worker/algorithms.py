"""The algorithms: their names in upstream, their configuration files, and the supported actions.

Upstream is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.metadata import Algorithm

GAMES = "games"
"""The key of upstream's configurations for Atari games, in addition to the keys for kinds of actions."""

_TEAM = "mpe/simple_spread_v3.yaml"
_CART, _PENDULUM = "classic_control/CartPole-v1.yaml", "classic_control/Pendulum-v1.yaml"
_ACTOR_CRITIC = {DISCRETE: "Categorical_MAAC_Policy", CONTINUOUS: "Gaussian_MAAC_Policy"}
_MIXING = {DISCRETE: "Mixing_Q_network"}

_BOUND = dict.fromkeys(
    ("parallels", "representation_hidden_size", "actor_hidden_size", "critic_hidden_size", "q_hidden_size",
     "hidden_dim_mixing_net", "hidden_dim_hyper_net", "use_rnn", "rnn", "fc_hidden_sizes", "normalize",
     "recurrent_hidden_size", "N_recurrent_layers", "use_parameter_sharing", "use_global_state",
     "filters", "kernels", "strides", "use_obsnorm", "use_automatic_entropy_tuning", "use_value_norm",
     "continuous_action"),
    "the networks of a checkpoint are built, or its steps counted, by it",
)  # fmt: skip


@dataclass(frozen=True)
class XuanceAlgorithm(Algorithm):
    """One algorithm.

    `policies` are upstream's names of the policy for each supported kind of actions. `several`: trains
    several agents at once. `games`: upstream also has a configuration for Atari games.
    """

    name: str
    policies: Mapping[str, str]
    several: bool
    on_policy: bool
    games: bool = False

    @property
    def configured(self) -> list[str]:
        """The keys of upstream's configurations of this algorithm: kinds of actions, and `GAMES`."""
        return [*self.policies, *([GAMES] if self.games else [])]

    @property
    def bound(self) -> Mapping[str, str]:
        return _BOUND

    @property
    def actions(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.policies)

    @property
    def agents(self) -> str:  # type: ignore[override]
        return "a team" if self.several else "one"

    @property
    def kind(self) -> str:
        """A supported kind of actions: continuous, if both are supported."""
        return list(self.policies)[-1]

    def file(self, kind: str) -> str:
        """Return upstream's configuration file for a kind of actions or games, below `xuance/configs`."""
        if kind == GAMES:
            return f"{self.name}/atari.yaml"
        return f"{self.name}/{_TEAM if self.several else _CART if kind == DISCRETE else _PENDULUM}"


ALGORITHMS: Mapping[str, XuanceAlgorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        XuanceAlgorithm("mappo", _ACTOR_CRITIC, several=True, on_policy=True),
        XuanceAlgorithm("ippo", _ACTOR_CRITIC, several=True, on_policy=True),
        XuanceAlgorithm("coma", {DISCRETE: "Categorical_COMA_Policy"}, several=True, on_policy=True),
        XuanceAlgorithm("qmix", _MIXING, several=True, on_policy=False),
        XuanceAlgorithm("vdn", _MIXING, several=True, on_policy=False),
        XuanceAlgorithm("iql", {DISCRETE: "Basic_Q_network_marl"}, several=True, on_policy=False),
        XuanceAlgorithm("maddpg", {CONTINUOUS: "MADDPG_Policy"}, several=True, on_policy=False),
        XuanceAlgorithm(
            "ppo",
            {DISCRETE: "Categorical_AC", CONTINUOUS: "Gaussian_AC"},
            several=False,
            on_policy=True,
            games=True,
        ),
        XuanceAlgorithm("dqn", {DISCRETE: "Basic_Q_network"}, several=False, on_policy=False),
        XuanceAlgorithm(
            "sac", {DISCRETE: "Categorical_SAC", CONTINUOUS: "Gaussian_SAC"}, several=False, on_policy=False
        ),
    )
}
