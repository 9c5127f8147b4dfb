"""The algorithms: their names in upstream, their configuration files, and the supported actions. Upstream is
not imported here."""

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
    """One algorithm. `policies` are upstream's names of the policy for each supported kind of actions.
    `several`: trains several agents at once. `games`: upstream also has a configuration for Atari games."""

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

    def file(self, config_key: str) -> str:
        """Return upstream's configuration file for a kind of actions or games, below `xuance/configs`."""
        if config_key == GAMES:
            return f"{self.name}/atari.yaml"
        return f"{self.name}/{_TEAM if self.several else _CART if config_key == DISCRETE else _PENDULUM}"


_ACTOR = {DISCRETE: "Categorical_AC", CONTINUOUS: "Gaussian_AC"}
_TABLE: Mapping[tuple[bool, bool], Mapping[str, Mapping[str, str]]] = {
    # (several, on_policy): upstream's policies of each algorithm
    (True, True): {
        "mappo": _ACTOR_CRITIC,
        "ippo": _ACTOR_CRITIC,
        "coma": {DISCRETE: "Categorical_COMA_Policy"},
        "iac": _ACTOR_CRITIC,
        "vdac": _ACTOR_CRITIC,
    },
    (True, False): {
        "qmix": {DISCRETE: "Mixing_Q_network"},
        "vdn": {DISCRETE: "Mixing_Q_network"},
        "iql": {DISCRETE: "Basic_Q_network_marl"},
        "wqmix": {DISCRETE: "Weighted_Mixing_Q_network"},
        "qtran": {DISCRETE: "Qtran_Mixing_Q_network"},
        "maddpg": {CONTINUOUS: "MADDPG_Policy"},
        "matd3": {CONTINUOUS: "MATD3_Policy"},
        "masac": {CONTINUOUS: "Gaussian_MASAC_Policy"},
        "iddpg": {CONTINUOUS: "Independent_DDPG_Policy"},
        "itd3": {CONTINUOUS: "Independent_TD3_Policy"},
        "isac": {CONTINUOUS: "Gaussian_ISAC_Policy"},
    },
    (False, True): {
        "ppo": _ACTOR,
        "a2c": _ACTOR,
        "pg": {DISCRETE: "Categorical_Actor", CONTINUOUS: "Gaussian_Actor"},
        "ppg": {DISCRETE: "Categorical_PPG", CONTINUOUS: "Gaussian_PPG"},
    },
    (False, False): {
        "dqn": {DISCRETE: "Basic_Q_network"},
        "ddqn": {DISCRETE: "Basic_Q_network"},
        "dueldqn": {DISCRETE: "Duel_Q_network"},
        "noisydqn": {DISCRETE: "Noisy_Q_network"},
        "perdqn": {DISCRETE: "Basic_Q_network"},
        "c51": {DISCRETE: "C51_Q_network"},
        "qrdqn": {DISCRETE: "QR_Q_network"},
        "ddpg": {CONTINUOUS: "DDPG_Policy"},
        "td3": {CONTINUOUS: "TD3_Policy"},
        "sac": {DISCRETE: "Categorical_SAC", CONTINUOUS: "Gaussian_SAC"},
    },
}

ALGORITHMS: Mapping[str, XuanceAlgorithm] = {
    name: XuanceAlgorithm(name, policies, several, on_policy, games=name == "ppo")
    for (several, on_policy), algorithms in _TABLE.items()
    for name, policies in algorithms.items()
}

_PARAMETERS = "an action has parameters of its own, as in no environment that can be trained here"
_MODEL = "it trains a model of the environment in a loop of its own, which cannot be resumed here"
_PIXELS = "upstream configures it for pictures of the DeepMind Control Suite only"
_MESSAGES = "its agents act on each other's messages, which the operators of an arena do not exchange"
_MEAN_FIELD = "its agents act on the mean of the others' actions, which operators of an arena do not observe"
_GRAPH = "its agents choose their actions together, by a coordination graph, and operators each their own"
REFUSED = {
    "commnet": _MESSAGES, "ic3net": _MESSAGES, "tarmac": _MESSAGES, "mfq": _MEAN_FIELD, "mfac": _MEAN_FIELD,
    "dcg": _GRAPH, "dcg_s": _GRAPH,
    "cwqmix": "upstream's learner fails with it; wqmix is OWQMIX, as in upstream's configurations",
    "qtran_alt": "upstream's learner fails with a network for each agent, which its configurations choose; "
    "qtran is QTRAN_base",
    "ppo_kl": "a resumed training would lose the coefficient of its KL penalty, which upstream's learner "
    "adapts and does not save; ppo clips instead",
    "drqn": "its recurrent state is not that of the other agents; recurrent policies of one agent train with "
    "sb3 (recurrent_ppo), rllib (use_lstm) and tianshou (layer_num of dqn)",
    "npg": "upstream's update takes gigabytes of memory in CartPole, and more with each",
    "dreamerv2": _MODEL, "dreamerv3": _MODEL, "pdqn": _PARAMETERS, "mpdqn": _PARAMETERS, "spdqn": _PARAMETERS,
    "td3bc": "it learns from a dataset, as bcq, cql and il of tianshou do", "curl": _PIXELS, "spr": _PIXELS,
    "drq": _PIXELS, "random": "it does not learn; mosaic.operators.random() acts at random",
}  # fmt: skip
"""Upstream's other algorithms, and the reason why each is not offered."""
SPELLINGS = {"owqmix": "wqmix", "qtran_base": "qtran", "duel_dqn": "dueldqn", "c51dqn": "c51"}
"""Names in upstream's registry of algorithms that are named here as upstream's configurations are."""
